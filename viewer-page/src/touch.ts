// Hands on the stage: drag to move, wheel or pinch to come closer, click to choose.

import type { Player, View } from "./player";

export function handle(view: View, player: Player): void {
  const touches = new Map<number, { x: number; y: number }>();
  let moved = 0;
  const { overlay } = view.stage;
  const apart = () => {
    const [a, b] = [...touches.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  overlay.addEventListener("pointerdown", (event) => {
    overlay.setPointerCapture(event.pointerId);
    touches.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    moved = touches.size > 1 ? 99 : 0;
  });
  overlay.addEventListener("pointermove", (event) => {
    const was = touches.get(event.pointerId);
    if (!was) return;
    const before = touches.size === 2 ? apart() : 0;
    const now = { x: event.offsetX, y: event.offsetY };
    touches.set(event.pointerId, now);
    moved += Math.hypot(now.x - was.x, now.y - was.y);
    if (touches.size === 2) view.stage.zoom(apart() / before, now.x, now.y);
    else if (moved > 4) {
      player.follow = false;
      view.stage.pan(now.x - was.x, now.y - was.y);
    }
  });
  const end = (event: PointerEvent) => {
    if (touches.delete(event.pointerId) && event.type === "pointerup" && moved <= 4 && view.chunk && view === player.main) {
      const uid = view.stage.pick(view.chunk, view.frame, event.offsetX, event.offsetY);
      if (uid === null) player.marked = null;
      player.select(uid);
    }
  };
  overlay.addEventListener("pointerup", end);
  overlay.addEventListener("pointercancel", end);
  overlay.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.stage.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });
  overlay.addEventListener("dblclick", () => { view.stage.fit(); player.redraw(); });
}
