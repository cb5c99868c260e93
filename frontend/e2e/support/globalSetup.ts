import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { provideBrowser } from "./browser";

const BUILT = process.env.TUNIX_RT_WEB_DIR ?? fileURLToPath(new URL("../../../backend/tunix_rt/web", import.meta.url));

export default function globalSetup(): void {
  if (!existsSync(join(BUILT, "index.html"))) throw new Error("The web app is not built. Run: make web");
  provideBrowser();
}
