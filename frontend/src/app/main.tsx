import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import "./tokens.css";
import "./base.css";
import { createQueryClient } from "./queryClient";
import { createAppRouter } from "./router";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root.");
const queryClient = createQueryClient();
createRoot(root).render(
  <StrictMode>
    <App queryClient={queryClient} router={createAppRouter(queryClient)} />
  </StrictMode>,
);
