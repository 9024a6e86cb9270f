// Mouse and touch on the map: drag to pan, wheel or pinch to zoom, click to select an agent.

import type { Player, ReplayView } from "../player";

const MAX_CLICK_MOVEMENT = 4; // pixels up to which a press is a click, not a drag

export function handlePointer(view: ReplayView, player: Player): void {
  const pointers = new Map<number, { x: number; y: number }>();
  let movement = 0;
  const { overlay } = view.map;
  const pinchDistance = () => {
    const [a, b] = [...pointers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  overlay.addEventListener("pointerdown", (event) => {
    overlay.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    movement = pointers.size > 1 ? Infinity : 0;
  });
  overlay.addEventListener("pointermove", (event) => {
    const previous = pointers.get(event.pointerId);
    if (!previous) return;
    const previousDistance = pointers.size === 2 ? pinchDistance() : 0;
    const current = { x: event.offsetX, y: event.offsetY };
    pointers.set(event.pointerId, current);
    movement += Math.hypot(current.x - previous.x, current.y - previous.y);
    if (pointers.size === 2) view.map.zoom(pinchDistance() / previousDistance, current.x, current.y);
    else if (movement > MAX_CLICK_MOVEMENT) {
      player.follow = false;
      view.map.pan(current.x - previous.x, current.y - previous.y);
    }
  });
  const end = (event: PointerEvent) => {
    const isClick = pointers.delete(event.pointerId) && event.type === "pointerup" && movement <= MAX_CLICK_MOVEMENT;
    if (!isClick || !view.chunk || view !== player.main) return;
    const uid = view.map.pick(view.chunk, view.frame, event.offsetX, event.offsetY);
    if (uid === null) player.marked = null;
    player.select(uid);
  };
  overlay.addEventListener("pointerup", end);
  overlay.addEventListener("pointercancel", end);
  overlay.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.map.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });
  overlay.addEventListener("dblclick", () => { view.map.fit(); player.redraw(); });
}
