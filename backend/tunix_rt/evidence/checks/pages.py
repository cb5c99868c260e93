"""Check of the rendered files: the page, the RO-Crate and the descriptions say what the data say."""

import re
from collections.abc import Iterator

from tunix_rt.evidence.documents import CRATE_FILE, json_text, ro_crate
from tunix_rt.evidence.page import PAGE_FILE, evidence_page
from tunix_rt.evidence.reader import Contents, damaged
from tunix_rt.evidence.summary import failure_headline
from tunix_rt.evidence.types import EvidenceManifest, kind_of

_MAX_SHOWN = 5
_NUMBER = re.compile(r"\d[\d.,]*")
MAX_RENDERED_BYTES = 1 << 28
"""Limit for metrics.jsonl: its points are in memory while the page is rendered."""


def page_problems(contents: Contents, evidence: EvidenceManifest) -> Iterator[str]:
    """Rendered files that differ from what the data of the bundle render to."""
    run = contents.manifest() if contents.has("run_manifest.json") else None
    if evidence.kind == "failure-report" and evidence.headline != failure_headline(evidence.run_id, run):
        yield "the headline of evidence.json does not match run_manifest.json"
    for file in evidence.files:
        kind = kind_of(file.path)
        if kind is not None and (file.proves, file.content_schema) != (kind.proves, kind.content_schema):
            yield f"evidence.json describes {file.path} in other words than those of its kind"
    if contents.bundle.sizes.get("metrics.jsonl", 0) > MAX_RENDERED_BYTES:
        raise damaged("metrics.jsonl", f"more than {MAX_RENDERED_BYTES:,} bytes are not rendered")
    if contents.has(PAGE_FILE):
        stated, again = contents.text(PAGE_FILE).decode(errors="replace"), evidence_page(contents, evidence)
        if evidence.evidence_version == "1":  # other words than today's
            if found := sorted(set(_NUMBER.findall(stated)) - set(_NUMBER.findall(again))):
                yield f"{PAGE_FILE} shows {', '.join(found[:_MAX_SHOWN])}, which the other files do not have"
        elif stated != again:
            yield f"{PAGE_FILE} does not show what the other files have"
    if run is not None and contents.has(CRATE_FILE):
        listed = [file for file in evidence.files if file.path != CRATE_FILE]
        crate = ro_crate(run, evidence.headline, listed, evidence.created_at.isoformat())
        if contents.text(CRATE_FILE) != json_text(crate.to_json()).encode():
            yield f"{CRATE_FILE} does not match the other files"
