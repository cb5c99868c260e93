import type { ReactElement } from "react";
import { referenceOf, versionDownloadPath } from "../../../api/models";
import type { VersionDetail } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { buttonClass } from "../../../ui/forms/Button";
import { Card } from "../../../ui/text/Card";

/** The version for other programs, and how each form is proved to be the same model. */
export function ExportTab({ version }: { version: VersionDetail }): ReactElement {
  const command = `tunix-rt models export ${referenceOf(version)}`;
  const name = `${version.model}-${version.version}`;
  return (
    <>
      <Card title="As it was registered">
        <p>One zip with the card. Every byte is checked on its way: an archive that has an end is whole.</p>
        <div>
          <a className={buttonClass()} href={versionDownloadPath(version.id)} download>
            Download as zip
          </a>
        </div>
      </Card>
      <Card title="As a whole model">
        <p>
          For transformers, vLLM and others. The registered and the exported model then answer the same fixed questions;
          the verdict (parity: the same tokens, one by one) lies in the export as <code>tunix_rt_export.json</code>, and
          the command ends with exit code 1 if a token differs.
        </p>
        <Command>{`${command} --as merged --output ${name}`}</Command>
      </Card>
      {version.kind === "adapter" ? (
        <Card title="As an adapter">
          <p>As PEFT loads it, with the same proof.</p>
          <Command>{`${command} --as adapter --output ${name}-adapter`}</Command>
        </Card>
      ) : null}
    </>
  );
}
