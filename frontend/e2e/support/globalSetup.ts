import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { provideBrowser } from "./browser";

const BUILT = fileURLToPath(new URL("../../../backend/tunix_rt/web/index.html", import.meta.url));

export default function globalSetup(): void {
  if (!existsSync(BUILT)) throw new Error("The web app is not built. Run: make web");
  provideBrowser();
}
