import { Skeleton } from "@mantine/core";
import { useEffect, useState } from "react";
import { parseCsv } from "@/lib/csv";
import { formatFileName } from "@/lib/format";
import { Markdown } from "@/ui/Markdown";
import type { ArtifactView } from "../model/types";
import classes from "./artifacts.module.css";
import { previewKind } from "./kinds";

const MOST_ROWS = 200;

/** An image is only ever an <img>, and text only ever text: nothing that an agent wrote becomes part of the page. */
export function ArtifactPreview({ artifact, url }: { artifact: ArtifactView; url: string }) {
  const kind = previewKind(artifact.mediaType, artifact.byteSize);
  if (kind === "none") return <p className="dim">This kind of file has no preview. Download it to look inside.</p>;
  if (kind === "image") return <img className={classes.image} src={url} alt={formatFileName(artifact.name)} />;
  return <TextPreview kind={kind} url={url} />;
}

function TextPreview({ kind, url }: { kind: "table" | "markdown" | "text"; url: string }) {
  const { text, failed } = useText(url);
  if (failed) return <p className="bad">The file could not be read. Close this and open it again for a fresh link.</p>;
  if (text === null) return <Skeleton height={220} />;
  if (kind === "table") return <CsvTable text={text} />;
  if (kind === "markdown") return <Markdown text={text} />;
  return <pre className={classes.text}>{text}</pre>;
}

function CsvTable({ text }: { text: string }) {
  const [head = [], ...rows] = parseCsv(text, MOST_ROWS + 1);
  return (
    <div className={classes.tableBox}>
      <table className={classes.table}>
        <thead>
          <tr>
            {head.map((cell, column) => (
              <th key={column} className={isNumber(rows[0]?.[column] ?? "") ? classes.number : undefined}>
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} className={isNumber(cell) ? `${classes.number} num` : undefined}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === MOST_ROWS && <p className="dim">The first {MOST_ROWS} rows. Download the file for the rest.</p>}
    </div>
  );
}

function isNumber(cell: string): boolean {
  return /^-?\d+(\.\d+)?%?$/.test(cell.trim());
}

function useText(url: string): { text: string | null; failed: boolean } {
  const [state, setState] = useState<{ text: string | null; failed: boolean }>({ text: null, failed: false });
  useEffect(() => {
    const abort = new AbortController();
    fetch(url, { signal: abort.signal })
      .then((response) => (response.ok ? response.text() : Promise.reject(new Error(String(response.status)))))
      .then((text) => setState({ text, failed: false }))
      .catch(() => {
        if (!abort.signal.aborted) setState({ text: null, failed: true });
      });
    return () => abort.abort();
  }, [url]);
  return state;
}
