// The page: which run is shown, navigation between runs, and live updates.

import { readAddress, writeAddress, type Address } from "./address";
import { caption, replaySelects, zoomButtons } from "./controls";
import { LiveUpdates, type Update } from "./data/live_updates";
import { Replay } from "./data/replay";
import { findSource, type Report, type RunInfo, type RunRow } from "./data/source";
import { formatInteger, h, oncePerFrame } from "./dom";
import { helpDialog, listenToKeys } from "./keyboard";
import { mapLegend } from "./map/legend";
import { handlePointer } from "./map/pointer";
import { clearSprites } from "./map/sprites";
import { Player, ReplayView } from "./player";
import { RunList } from "./run_list";
import { NetTree } from "./panels/net_tree";
import { SidePanel } from "./side_panel";
import { Transport } from "./transport";

// Jobs whose results matter more than their first game.
const RESULTS_FIRST = ["compare", "round_robin", "tournament", "crossplay", "scenarios"];
const LIST_INTERVALS = { pending: 50, running: 4000 }; // milliseconds before the list is read again
const THEME_KEY = "kinfolk-theme";

type ReplayName = [run: string, replay: string];

export class Page {
  readonly player = new Player();
  navigating = false; // on the way to what the address says
  private source = findSource();
  private transport = new Transport(this.player);
  private nets = new NetTree();
  private side = new SidePanel(this.player, (push) => this.remember(push));
  private list = new RunList((address) => this.navigate(address), (search, sort) => writeAddress({ search, sort }));
  private maps = h("div.maps");
  private captions: HTMLElement[] = [];
  private ends: HTMLElement[] = []; // beside the captions of two games: which is over
  private breadcrumbs = h("nav.crumbs");
  private problem = h("p.problem", { role: "alert", hidden: true });
  private body = h("div.body");
  private help = helpDialog();
  private runs: RunRow[] = []; // as of the last time that the list was needed
  private info: RunInfo | null = null; // of the run that is shown
  private updates: LiveUpdates | null = null;
  private visit = 0; // counts navigations: an answer that belongs to an earlier one is dropped

  constructor() {
    document.documentElement.dataset.theme = readStorage(THEME_KEY) ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.body.append(
      h("header", {}, h("a.brand", { href: "#", onclick: (event: Event) => { event.preventDefault(); this.navigate({}); } }, "kinfolk"), this.breadcrumbs, h("span.space"),
        h("button", { title: "Light or dark (t)", "aria-label": "Light or dark", onclick: () => this.toggleTheme() }, "◐"),
        h("button", { title: "Keys (?)", "aria-label": "Keys", onclick: () => this.help.showModal() }, "?")),
      this.problem, this.body, this.help);
    listenToKeys({
      player: this.player, jump: (direction) => this.transport.jump(direction), changeSpeed: (direction) => this.transport.changeSpeed(direction),
      selectTab: (i) => this.side.select(i), toggleTheme: () => this.toggleTheme(), toggleMarks: () => this.side.inspector.toggleMarks(), showHelp: () => this.help.showModal(),
      search: () => this.search(), toggleLegend: () => this.maps.querySelectorAll("details").forEach((box) => { box.open = !box.open; }),
    });
    const remember = oncePerFrame(() => this.remember());
    this.player.onFrame.on(() => { if (!this.player.playing) remember(); });
    this.player.onFrame.on(() => this.showEnds());
    this.player.onSelect.on(remember);
    addEventListener("hashchange", () => void this.start());
  }

  /** Show something else; the Back button returns from there. */
  private navigate(address: Partial<Address>): void {
    writeAddress(address, true);
    void this.start();
  }

  /** Show what the address says; on the first call without an address, the only run. */
  async start(first = false): Promise<void> {
    const visit = ++this.visit;
    const address = readAddress();
    this.navigating = true;
    try {
      await this.show(address, first, visit);
    } catch (error) {
      if (visit === this.visit) this.showFailure(error as Error);
    } finally {
      if (visit === this.visit) {
        this.navigating = false;
        this.remember();
      }
    }
  }

  private async show(address: Address, first: boolean, visit: number): Promise<void> {
    let name = address.run;
    if (!name) {
      this.runs = await this.source.runs();
      if (visit !== this.visit) return;
      if (first && (this.runs.length === 1 || this.source.embedded)) name = this.runs[0].name;
      else return this.showList(address);
    }
    const info = await this.source.run(name);
    if (visit !== this.visit) return;
    if (info.problem) throw new Error(info.problem);
    this.info = info;
    const replay = this.chooseReplay(address, info);
    if (!replay) return this.showRun(info, address.view);
    await this.showReplays(address, first, [info.name, replay]);
  }

  /** The replay to show; none for a run without one, or if its page is asked for. */
  private chooseReplay(address: Address, { job, replays }: RunInfo): string | undefined {
    if (address.replay || address.view === "page") return address.replay;
    const saysNothing = address.tick === null && address.uid === null && !address.tab && !address.other;
    const isPair = this.source.embedded && this.exportedPair() !== null;
    return saysNothing && !isPair && RESULTS_FIRST.includes(job) ? undefined : replays[0]?.name;
  }

  /** The second game of a page that was exported to watch two side by side, of another run or of the same. */
  private exportedPair(): ReplayName | null {
    const [, second] = this.runs.flatMap((run) => run.replays.map((replay): ReplayName => [run.name, replay.name]));
    return second ?? null;
  }

  private async showReplays(address: Address, first: boolean, main: ReplayName): Promise<void> {
    const { visit, player } = this;
    const [secondRun, secondReplay] = (first && this.source.embedded && !address.other && this.exportedPair()) || ["", ""];
    const other = address.other || secondRun;
    const otherReplay = address.otherReplay || secondReplay || (other ? (await this.source.run(other)).replays[0]?.name : "");
    if (visit !== this.visit) return;
    const names: ReplayName[] = other && otherReplay ? [main, [other, otherReplay]] : [main];
    if (!this.isShown(names)) await this.openReplays(names);
    if (visit !== this.visit) return;
    if (address.tick !== null || player.frame) player.seek(player.main.replay.frameOf(address.tick ?? 0));
    if (address.uid !== player.selected) player.select(address.uid);
    this.side.show(address.tab);
  }

  /** Go to the search of the list of runs. */
  private search(): void {
    if (!this.list.element.isConnected) this.navigate({});
    this.list.focusSearch();
  }

  private isShown(names: ReplayName[]): boolean {
    const { views } = this.player;
    return views.length === names.length && views.every(({ replay: { source } }, i) => source.run === names[i][0] && source.name === names[i][1]);
  }

  private showList(address: Address): void {
    this.close();
    this.body.replaceChildren(this.list.element);
    this.list.show(this.runs, address);
    this.followList();
  }

  /** Read the list again while the server has not read every run, and now and then while one is running. */
  private followList(): void {
    const { visit } = this;
    const interval = this.runs.some((run) => run.pending) ? LIST_INTERVALS.pending : this.runs.some((run) => run.status === "running") ? LIST_INTERVALS.running : 0;
    if (!interval || this.source.embedded) return;
    setTimeout(async () => {
      if (visit !== this.visit) return;
      const runs = document.hidden ? this.runs : await this.source.runs().catch(() => this.runs);
      if (visit !== this.visit) return;
      if (runs !== this.runs) this.list.update(this.runs = runs);
      this.followList();
    }, interval);
  }

  /** Close what is shown. */
  private close(): void {
    this.updates?.close();
    this.updates = null;
    this.player.playing = false;
    this.player.views = [];
    this.problem.hidden = true;
    this.breadcrumbs.replaceChildren();
  }

  /** Say why the address cannot be shown, and offer the list of runs. */
  private showFailure(error: Error): void {
    this.close();
    this.body.replaceChildren(h("p.hint", {}, h("button", { onclick: () => this.navigate({}) }, "all runs")));
    this.showProblem(error);
  }

  private showProblem(error: Error): void {
    this.problem.textContent = error.message === "Failed to fetch" ? "The server does not answer." : error.message;
    delete this.problem.dataset.kind;
    this.problem.hidden = false;
  }

  /** Show the page of a run: its report, settings, roles and family of nets. */
  private async showRun(info: RunInfo, view: string): Promise<void> {
    writeAddress({ run: info.name, view });
    this.close();
    this.breadcrumbs.replaceChildren(h("span.run-name", {}, info.name));
    this.body.replaceChildren(h("main.run-page", {}, this.side.run.element, this.side.roles.element, this.nets.element, this.side.run.more));
    await this.refreshRun(info, null);
    this.followRun(info.name, "");
  }

  private async openReplays(names: ReplayName[]): Promise<void> {
    const { visit } = this;
    const replays = await Promise.all(names.map(([run, name]) => Replay.open(this.source.replay(run, name))));
    if (visit !== this.visit) return;
    this.close();
    this.layOut(replays);
    const [run, replay] = names[0];
    await this.refreshRun(this.info!, replays[0]);
    if (visit !== this.visit) return;
    this.followRun(run, replay);
    this.remember();
    if (this.runs.length > 1 || this.source.embedded) return;
    this.runs = await this.source.runs(); // for the select of replays to compare with
    if (visit === this.visit) this.listReplays(replays);
  }

  private layOut(replays: Replay[]): void {
    const boxes = replays.map(() => h("div.map"));
    this.ends = replays.map(() => h("span.ended", { hidden: true }));
    this.captions = replays.map((replay, i) => h("figcaption", {}, this.ends[i], caption(replay, i, replays.length)));
    this.maps.replaceChildren(...replays.map((_, i) => h("figure.view", {}, this.captions[i], boxes[i], zoomButtons(this.player, i))));
    this.maps.dataset.views = String(replays.length);
    this.body.replaceChildren(h("main.replay-page", {}, h("div.viewport", {}, this.maps, this.transport.element), this.side.element));
    const views = replays.map((replay, i) => new ReplayView(boxes[i], replay));
    for (const [i, view] of views.entries()) {
      this.maps.children[i].append(mapLegend(view.map));
      view.onError = (error) => this.showProblem(error);
      handlePointer(view, this.player);
    }
    this.player.setViews(views);
    this.listReplays(replays);
    this.transport.refresh();
    this.side.show(this.side.shown);
  }

  /** Say which of two games is over while the other goes on. */
  private showEnds(): void {
    const { views, tick } = this.player;
    for (const [i, { replay }] of views.entries()) {
      this.ends[i].hidden = views.length < 2 || replay.live || tick <= replay.lastTick;
      this.ends[i].textContent = `over at tick ${formatInteger(replay.lastTick)}`;
    }
  }

  private listReplays(replays: Replay[]): void {
    this.breadcrumbs.replaceChildren(...replaySelects(replays, this.info!, this.runs, (address) => this.navigate({ ...address, tab: this.side.shown })));
  }

  /** Read the report and the roles of a run. Of a damaged run, what can be read is shown. */
  private async refreshRun(info: RunInfo, replay: Replay | null): Promise<void> {
    const { visit, side, source } = this;
    const orProblem = <T>(request: Promise<T>) => request.catch((error: Error) => {
      if (visit === this.visit) this.showProblem(error);
      return null;
    });
    const [report, roles]: [Report | null, any] = await Promise.all([orProblem(source.report(info.name)), info.roles ? orProblem(source.roles(info.name)) : null]);
    if (visit !== this.visit) return;
    side.run.show({
      info, report, head: replay?.head ?? null, result: replay?.result ?? null, loadMetrics: () => source.metrics(info.name),
      pageHref: (page) => source.pageHref(info.name, page), open: (name) => this.navigate({ run: info.name, replay: name }),
    });
    this.nets.show(report?.family ?? null, info.name);
    try {
      side.roles.show(roles, info.name);
    } catch (error) {
      side.roles.show(null, info.name);
      this.showProblem(new Error(`The roles of ${info.name} cannot be shown: ${(error as Error).message}.`));
    }
    side.setHasRoles(info.roles);
  }

  private followRun(run: string, replay: string): void {
    document.body.dataset.status = this.info!.status;
    if (this.source.embedded || this.info!.status !== "running") return;
    this.updates = new LiveUpdates(run, replay, (update) => {
      this.applyUpdate(update, run).then(
        () => { if (this.problem.dataset.kind === "disconnected") this.problem.hidden = true; },
        // The next update comes once the server answers again.
        (error) => { this.showProblem(error); this.problem.dataset.kind = "disconnected"; });
    });
  }

  private async applyUpdate(update: Update, run: string): Promise<void> {
    const { player, visit } = this;
    const replay = player.views[0]?.replay;
    document.body.dataset.status = update.status;
    const known = this.info?.replays.map(({ name }) => name) ?? [];
    const added = update.replays.filter(({ name }) => !known.includes(name));
    if (update.events_size >= 0 || added.length || update.status !== this.info?.status) {
      const info = await this.source.run(run);
      if (visit !== this.visit) return;
      this.info = info;
      await this.refreshRun(info, replay ?? null);
      if (visit !== this.visit) return;
    }
    if (!replay) {
      if (added.length && !readAddress().view) await this.openReplays([[run, added[0].name]]);
      return;
    }
    if (added.length) this.listReplays(player.views.map((view) => view.replay));
    const wasAtEnd = player.atEnd;
    const grew = await replay.refresh();
    if (visit !== this.visit) return;
    if (grew || !replay.live) {
      this.transport.refresh();
      this.side.refreshSeries();
      if (wasAtEnd && !player.playing) player.seek(player.lastFrame);
    }
    if (added.length && wasAtEnd && !replay.live) await this.openAtEnd(run, added[added.length - 1].name);
  }

  /** Open the next replay of a run that was watched at its newest tick. */
  private async openAtEnd(run: string, name: string): Promise<void> {
    const { visit } = this;
    await this.openReplays([[run, name]]);
    if (visit !== this.visit) return;
    this.player.seek(this.player.lastFrame);
    this.player.play();
  }

  private toggleTheme(): void {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem(THEME_KEY, theme); } catch { /* a page opened from disk may have no storage */ }
    clearSprites();
    this.player.views.forEach((view, i, all) => {
      view.map.recolour();
      this.captions[i].replaceChildren(this.ends[i], caption(view.replay, i, all.length));
    });
    this.player.redraw();
    this.transport.refresh();
    this.side.refresh();
    this.side.run.refresh();
  }

  /** For `kinfolk/viewer/screenshots.py`: set the theme, show one part alone, mark descendants. */
  prepareScreenshot(theme: string, part: string, markDescendants: boolean): void {
    if (document.documentElement.dataset.theme !== theme) this.toggleTheme();
    document.documentElement.dataset.part = part;
    if (markDescendants) this.side.inspector.toggleMarks();
    this.player.views.forEach((view) => view.map.resize());
  }

  /** For `kinfolk/viewer/screenshots.py`: show a tick, and resolve when it is drawn. */
  async showTick(tick: number): Promise<void> {
    const { player } = this;
    player.seek(player.main.replay.frameOf(tick));
    const isDrawn = () => player.views.every((view, i) => view.chunk && view.frame === (i ? view.replay.frameOf(player.tick) : player.frame));
    do await new Promise((done) => requestAnimationFrame(done)); while (!isDrawn());
    await new Promise((done) => requestAnimationFrame(done));
  }

  /** Write what is shown into the address, unless another address is being opened. */
  private remember(push = false): void {
    if (!this.player.views.length || this.navigating) return;
    const [first, second] = this.player.views.map((view) => view.replay.source);
    writeAddress({ run: first.run, replay: first.name, other: second?.run, otherReplay: second?.name, tick: this.player.tick, uid: this.player.selected, tab: this.side.shown }, push);
  }
}

function readStorage(key: string): string | null {
  try { return localStorage.getItem(key); } catch { return null; }
}
