import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Empty } from "../ui/feedback/Empty";
import { buttonClass } from "../ui/forms/Button";
import { Page } from "../ui/layout/Page";

export function NotFound(): ReactElement {
  return (
    <Page title="Page not found">
      <Empty
        title="Nothing at this address"
        actions={
          <Link to="/" className={buttonClass("primary")}>
            Go home
          </Link>
        }
      >
        <p>
          The address may be misspelt, or the item was deleted. Press <kbd>Ctrl K</kbd> to search.
        </p>
      </Empty>
    </Page>
  );
}
