import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Empty } from "../ui/feedback/Empty";
import { buttonClass } from "../ui/forms/Button";
import { Page } from "../ui/Page";

export function NotFound(): ReactElement {
  return (
    <Page title="There is no such page">
      <Empty
        title="The address leads nowhere"
        actions={
          <Link to="/" className={buttonClass("primary")}>
            Go home
          </Link>
        }
      >
        <p>
          It may be misspelt, or the thing was removed. <kbd>Ctrl K</kbd> finds every place.
        </p>
      </Empty>
    </Page>
  );
}
