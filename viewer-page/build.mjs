// Bundle the page into one script and one style sheet, into the folder given or the package.
import { build } from "esbuild";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "src", "kinfolk", "viewer", "page");

// The licences of what is bundled go wherever the script goes, exported pages too.
const texts = ["uplot", "d3-hierarchy"].map(async (name) => `${name}\n\n${await readFile(join(here, "node_modules", name, "LICENSE"), "utf8")}`);
const licences = `/*! Bundled with this page:\n\n${(await Promise.all(texts)).join("\n\n").trim()}\n*/`;

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.ts" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  banner: { js: licences },
});
await copyFile(join(here, "src", "index.html"), join(out, "index.html"));
