// The side panel of a replay: tabs, and the panel that is shown.

import { h } from "./dom";
import { Charts } from "./panels/charts";
import { Inspector } from "./panels/inspector";
import { LineageTree } from "./panels/lineage_tree";
import { RoleTree } from "./panels/role_tree";
import { RunPanel } from "./panels/run_panel";
import type { Player } from "./player";

export const TABS = ["Agent", "Charts", "Lineage", "Roles", "Run"];
const ROLES_TAB = TABS.indexOf("Roles");

export class SidePanel {
  readonly inspector: Inspector;
  readonly roles = new RoleTree();
  readonly run = new RunPanel();
  shown = 0; // index of the tab
  private charts: Charts;
  private lineage: LineageTree;
  private tabs = TABS.map((name, i) => h("button", { role: "tab", title: `${name} (${i + 1})`, onclick: () => this.select(i) }, name));
  private panel = h("div.panel", { role: "tabpanel" });
  readonly element = h("aside.side", {}, h("div.tabs", { role: "tablist" }, ...this.tabs), this.panel);

  /** `remember` writes the address; with `true` as a new entry of the browser's history. */
  constructor(private player: Player, private remember: (push?: boolean) => void) {
    this.inspector = new Inspector(player);
    this.charts = new Charts(player);
    this.lineage = new LineageTree(player);
  }

  /** Show a tab that the user selected: the Back button returns to the one before. */
  select(index: number): void {
    if (this.tabs[index].hidden || index === this.shown) return;
    this.remember();
    this.show(index);
    this.remember(true);
  }

  /** Show a tab; the first one if there is no such tab, as an address may hold any number. */
  show(number: number): void {
    this.shown = this.tabs[number] && !this.tabs[number].hidden ? number : 0;
    this.tabs.forEach((tab, i) => tab.setAttribute("aria-selected", String(i === this.shown)));
    const panels = [this.inspector, this.charts, this.lineage, this.roles, this.run];
    const shown = panels[this.shown];
    this.panel.replaceChildren(shown.element, ...(shown === this.run ? [this.run.more] : []));
    this.player.redraw();
    this.refresh();
  }

  /** Hide the tab of the roles for a run that has none. */
  setHasRoles(hasRoles: boolean): void {
    this.tabs[ROLES_TAB].hidden = !hasRoles;
    this.roles.element.hidden = !hasRoles; // it also stands below a run without replays, where there are no tabs
  }

  /** Draw again the panels of the replay, which draw only while they are shown. */
  refresh(): void {
    this.inspector.refresh();
    this.refreshSeries();
  }

  /** Draw again the panels that show all frames: the replay has grown. */
  refreshSeries(): void {
    this.charts.refresh();
    this.lineage.refresh();
  }
}
