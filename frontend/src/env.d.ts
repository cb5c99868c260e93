interface ImportMetaEnv {
  /** Where the server is, when it is not the one that sent the page. */
  readonly VITE_API_URL?: string;
}

// Without this, Vite types every other variable as `any`.
interface ViteTypeOptions {
  strictImportMetaEnv: unknown;
}
