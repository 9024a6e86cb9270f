// The page: which run is shown, its panels, and what ties them together.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { readAddress, writeAddress, type Address } from "./address";
import { Charts } from "./charts";
import { h, soon } from "./dom";
import { FamilyTree } from "./family";
import { Inspector } from "./inspector";
import { helpBox, listen } from "./keys";
import { caption, choosers, zoomers } from "./labels";
import { Following, type News } from "./live";
import { Player, View } from "./player";
import { Replay } from "./replay";
import { RoleTree } from "./roles";
import { RunList } from "./runs";
import { RunPanel } from "./runpanel";
import { findSource, type RunInfo } from "./source";
import { forgetSprites } from "./sprites";
import { handle } from "./touch";
import { Transport } from "./transport";

const TABS = ["Agent", "Charts", "Family", "Roles", "Run"];
const TABLED = ["compare", "round_robin"]; // jobs whose results are a table and a verdict

class Page {
  readonly source = findSource();
  readonly player = new Player();
  private transport = new Transport(this.player);
  private inspector = new Inspector(this.player);
  private charts = new Charts(this.player);
  private family = new FamilyTree(this.player);
  private roles = new RoleTree();
  private run = new RunPanel();
  private list = new RunList((run, replay, other) => this.go({ run, replay, other: other?.[0], otherReplay: other?.[1] }));
  private panels = [this.inspector.element, this.charts.element, this.family.element, this.roles.element, this.run.element];
  private tabs = TABS.map((name, i) => h("button", { role: "tab", title: `${name} (${i + 1})`, onclick: () => this.chooseTab(i) }, name));
  private side = h("aside.side", {}, h("div.tabs", { role: "tablist" }, ...this.tabs), h("div.panel", { role: "tabpanel" }));
  private stages = h("div.stages");
  private crumbs = h("nav.crumbs");
  private problem = h("p.problem", { role: "alert", hidden: true });
  private body = h("div.body");
  private help = helpBox();
  private infos: RunInfo[] = [];
  private following: Following | null = null;
  private shownTab = 0;
  private visit = 0; // counts what was asked for; only the last of them is shown
  moving = false; // on the way to what the address says
  private captions: HTMLElement[] = [];

  constructor() {
    const theme = localStorageOr("kinfolk-theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    document.body.append(
      h("header", {}, h("a.brand", { href: "#", onclick: (event: Event) => { event.preventDefault(); this.go({}); } }, "kinfolk"), this.crumbs, h("span.space"),
        h("button", { title: "Light or dark (t)", "aria-label": "Light or dark", onclick: () => this.theme() }, "◐"),
        h("button", { title: "Keys (?)", "aria-label": "Keys", onclick: () => this.help.showModal() }, "?")),
      this.problem, this.body, this.help);
    listen({ player: this.player, jump: (way) => this.transport.jump(way), faster: (way) => this.transport.faster(way), tab: (i) => this.chooseTab(i), theme: () => this.theme(), marks: () => this.inspector.toggleMarks(), help: () => this.help.showModal() });
    const write = soon(() => this.remember());
    this.player.onFrame.on(() => { if (!this.player.playing) write(); });
    this.player.onSelect.on(write);
    addEventListener("hashchange", () => void this.start());
  }

  /** Go somewhere else in the viewer; the Back button comes back from there. */
  private go(to: Partial<Address>): void {
    writeAddress(to, true);
    void this.start();
  }

  /** Show what the address says; a page that is opened without one shows its only run. */
  async start(first = false): Promise<void> {
    const visit = ++this.visit;
    const to = readAddress();
    this.moving = true;
    try {
      const infos = await this.source.runs();
      if (visit !== this.visit) return;
      this.infos = infos;
      await this.arrive(to, first, visit);
    } catch (error) {
      if (visit === this.visit) this.fail(error as Error);
    } finally {
      if (visit === this.visit) {
        this.moving = false;
        this.remember();
      }
    }
  }

  private async arrive(to: Address, first: boolean, visit: number): Promise<void> {
    const only = first && (this.infos.length === 1 || this.source.embedded) ? this.infos[0] : undefined;
    const run = to.run || only?.name;
    if (!run) return this.home();
    const info = this.infos.find((one) => one.name === run);
    const replay = to.replay || info?.replays[0]?.name;
    const other = to.other || (first && this.source.embedded ? this.infos[1]?.name : "");
    if (!replay) {
      writeAddress({ run });
      return this.lookAt(run);
    }
    const otherReplay = to.otherReplay || this.infos.find((one) => one.name === other)?.replays[0]?.name;
    const names: [string, string][] = other && otherReplay ? [[run, replay], [other, otherReplay]] : [[run, replay]];
    if (!this.shows(names)) await this.open(names);
    if (visit !== this.visit) return;
    const { player } = this;
    if (to.tick !== null || player.frame) player.seek(player.main.replay.frameOf(to.tick ?? 0));
    if (to.uid !== player.selected) player.select(to.uid);
    this.tab(to.tab);
  }

  /** Whether these replays are the ones on the stages now. */
  private shows(names: [string, string][]): boolean {
    const { views } = this.player;
    return views.length === names.length && views.every(({ replay }, i) => replay.source.run === names[i][0] && replay.source.name === names[i][1]);
  }

  private home(): void {
    this.leave();
    this.crumbs.replaceChildren();
    this.body.replaceChildren(this.list.element);
    this.list.show(this.infos);
  }

  private leave(): void {
    this.following?.close();
    this.following = null;
    this.player.playing = false;
    this.player.views = [];
    this.problem.hidden = true;
  }

  /** What was asked for cannot be shown: say why, and offer the list. */
  fail(error: Error): void {
    this.leave();
    this.crumbs.replaceChildren();
    this.body.replaceChildren(h("p.hint", {}, h("button", { onclick: () => this.go({}) }, "all runs")));
    this.say(error);
  }

  say(error: Error): void {
    this.problem.textContent = error.message === "Failed to fetch" ? "The server does not answer." : error.message;
    delete this.problem.dataset.kind;
    this.problem.hidden = false;
  }

  /** A run without replays: its measures and roles. */
  private async lookAt(name: string): Promise<void> {
    this.leave();
    this.crumbs.replaceChildren(h("span", {}, name));
    this.body.replaceChildren(h("main.alone", {}, this.run.element, this.roles.element));
    await this.refreshRun(name, null);
    if (!this.source.embedded) this.following = new Following(name, "", (news) => this.listen(news, name));
  }

  private async open(names: [string, string][]): Promise<void> {
    const visit = this.visit;
    const replays = await Promise.all(names.map(([run, name]) => Replay.open(this.source.replay(run, name))));
    if (visit !== this.visit) return;
    this.leave();
    this.lay(replays);
    const [run, replay] = names[0];
    await this.refreshRun(run, replays[0]);
    if (visit !== this.visit) return;
    if (!this.source.embedded) this.following = new Following(run, replay, (news) => this.listen(news, run));
    this.remember();
  }

  private lay(replays: Replay[]): void {
    const boxes = replays.map(() => h("div.stage"));
    this.captions = replays.map((replay, i) => h("figcaption", {}, caption(replay, i, replays.length)));
    this.stages.replaceChildren(...replays.map((_, i) => h("figure.view", {}, this.captions[i], boxes[i], zoomers(this.player, i))));
    this.stages.dataset.views = String(replays.length);
    this.body.replaceChildren(h("main.show", {}, h("div.theatre", {}, this.stages, this.transport.element), this.side));
    const views = replays.map((replay, i) => new View(boxes[i], replay));
    for (const view of views) {
      view.onError = (error) => this.say(error);
      handle(view, this.player);
    }
    this.player.setViews(views);
    this.crumbs.replaceChildren(...this.choosers(replays));
    this.transport.renew();
    this.tab(this.shownTab);
  }

  private choosers(replays: Replay[]): (Node | string)[] {
    return choosers(replays, this.infos, (to) => this.go({ ...to, tab: this.shownTab }));
  }

  private async refreshRun(run: string, replay: Replay | null): Promise<void> {
    const visit = this.visit;
    const info = this.infos.find((one) => one.name === run);
    if (info?.problem) throw new Error(info.problem);
    // What is damaged is said, and hides nothing that is not; of a run that is not there nothing is shown.
    const orSay = <T>(wanted: Promise<T>, otherwise: T) => wanted.catch((error: Error) => {
      if (!info) throw error;
      if (visit === this.visit) this.say(error);
      return otherwise;
    });
    const [metrics, results, roles] = await Promise.all([
      orSay(this.source.metrics(run), {}),
      TABLED.includes(info?.job ?? "") ? orSay(this.source.results(run), null) : null,
      info?.roles ? orSay(this.source.roles(run), null) : null,
    ]);
    if (visit !== this.visit) return;
    this.run.show({ metrics, results, head: replay?.head ?? null, result: replay?.result ?? null, about: info?.settings ?? replay?.head });
    try {
      this.roles.show(roles);
    } catch (error) {
      this.roles.show(null);
      this.say(new Error(`The roles of ${run} cannot be shown: ${(error as Error).message}.`));
    }
    const without = [false, false, false, !info?.roles, false];
    this.tabs.forEach((tab, i) => (tab.hidden = without[i]));
    this.roles.element.hidden = !info?.roles; // where there are no tabs, it would stand below the run
  }

  /** News come again after the server was away, so a call that failed meanwhile is not the end. */
  private listen(news: News, run: string): void {
    this.hear(news, run).then(
      () => { if (this.problem.dataset.kind === "gone") this.problem.hidden = true; },
      (error) => { this.say(error); this.problem.dataset.kind = "gone"; });
  }

  /** There is more of a live run. */
  private async hear(news: News, run: string): Promise<void> {
    const { player, visit } = this;
    const replay = player.views[0]?.replay;
    document.body.dataset.status = news.status;
    const info = this.infos.find((one) => one.name === run);
    const fresh = news.replays.filter((one) => !info?.replays.some((known) => known.name === one.name));
    if (news.events_size >= 0 || fresh.length) {
      this.infos = await this.source.runs();
      if (visit !== this.visit) return;
      await this.refreshRun(run, replay ?? null);
      if (visit !== this.visit) return;
    }
    if (!replay) {
      if (fresh.length) await this.open([[run, fresh[0].name]]);
      return;
    }
    if (fresh.length) this.crumbs.replaceChildren(...this.choosers(player.views.map((view) => view.replay)));
    const wasAtEnd = player.atEnd;
    const grew = await replay.grow();
    if (visit !== this.visit) return;
    if (grew || !replay.live) {
      this.transport.renew();
      this.charts.renew();
      this.family.renew();
      if (wasAtEnd && !player.playing) player.seek(player.lastFrame);
    }
    if (fresh.length && wasAtEnd && !replay.live) await this.openAtEnd(run, fresh[fresh.length - 1].name);
  }

  /** Who kept to the newest tick is taken along to the next game. */
  private async openAtEnd(run: string, name: string): Promise<void> {
    const { visit } = this;
    await this.open([[run, name]]);
    if (visit !== this.visit) return;
    this.player.seek(this.player.lastFrame);
    this.player.play();
  }

  /** A tab was chosen by hand: the Back button returns to the one before. */
  private chooseTab(index: number): void {
    if (this.tabs[index].hidden || index === this.shownTab) return;
    this.remember();
    this.tab(index);
    this.remember(true);
  }

  /** Show a panel: that of a number in an address too, which may be any. The first if there is none. */
  private tab(number: number): void {
    const index = this.tabs[number] && !this.tabs[number].hidden ? number : 0;
    this.shownTab = index;
    this.tabs.forEach((tab, i) => tab.setAttribute("aria-selected", String(i === index)));
    this.side.querySelector(".panel")!.replaceChildren(this.panels[index]);
    this.player.redraw();
    this.renewPanels();
  }

  /** Panels draw only while they are shown: one that comes up has something to make good. */
  private renewPanels(): void {
    this.inspector.renew();
    this.charts.renew();
    this.family.renew();
  }

  private theme(): void {
    const now = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = now;
    try { localStorage.setItem("kinfolk-theme", now); } catch { /* a page opened from disk may not keep it */ }
    forgetSprites();
    this.player.views.forEach((view, i, all) => {
      view.stage.recolour();
      this.captions[i].replaceChildren(caption(view.replay, i, all.length));
    });
    this.player.redraw();
    this.transport.renew();
    this.renewPanels();
    this.run.renew();
  }

  /** For pictures: a theme, and one part of the page alone. */
  prepareScreenshot(theme: string, part: string, marks: boolean): void {
    if (document.documentElement.dataset.theme !== theme) this.theme();
    document.documentElement.dataset.pose = part || "page";
    if (marks) this.inspector.toggleMarks();
    this.player.views.forEach((view) => view.stage.resize());
  }

  /** For pictures: show a tick, and come back when it is drawn. */
  async showTick(tick: number): Promise<void> {
    const { player } = this;
    player.seek(player.main.replay.frameOf(tick));
    const drawn = () => player.views.every((view, i) => view.chunk && view.frame === (i ? view.replay.frameOf(player.tick) : player.frame));
    do await new Promise((done) => requestAnimationFrame(done)); while (!drawn());
    await new Promise((done) => requestAnimationFrame(done));
  }

  /** Keep in the address what is looked at; on the way somewhere else, it is that place's already. */
  private remember(step = false): void {
    if (!this.player.views.length || this.moving) return;
    const [first, second] = this.player.views.map((view) => view.replay.source);
    writeAddress({ run: first.run, replay: first.name, other: second?.run, otherReplay: second?.name, tick: this.player.tick, uid: this.player.selected, tab: this.shownTab }, step);
  }
}

function localStorageOr(key: string): string | null {
  try { return localStorage.getItem(key); } catch { return null; }
}

const page = new Page();
(window as any).kinfolk = page; // for those who look at it from the console
void page.start(true).finally(() => (document.body.dataset.ready = "yes"));
