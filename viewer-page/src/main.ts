// Entry point of the bundle.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Page } from "./page";

const page = new Page();
(window as any).kinfolk = page; // for screenshots, tests and the browser's console
void page.start(true).finally(() => (document.body.dataset.ready = "yes"));
