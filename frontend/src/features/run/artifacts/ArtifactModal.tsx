import { Button, Modal, Skeleton } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "urql";
import { explainFault } from "@/graphql/faults";
import { formatBytes, formatFileName } from "@/lib/format";
import type { ArtifactView } from "../model/types";
import { ArtifactLinkQuery } from "../run.graphql";
import { ArtifactPreview } from "./ArtifactPreview";
import classes from "./artifacts.module.css";

/** Shows an artifact through a link that was signed when it was opened. */
export function ArtifactModal({ artifact, onClose }: { artifact: ArtifactView; onClose: () => void }) {
  const [{ data, error }] = useQuery({
    query: ArtifactLinkQuery,
    variables: { id: artifact.id },
    requestPolicy: "network-only",
  });
  const url = data?.node != null && "downloadUrl" in data.node ? data.node.downloadUrl : null;
  const isMissing = error !== undefined || (data !== undefined && url === null);
  return (
    <Modal opened onClose={onClose} size="xl" centered title={<b>{formatFileName(artifact.name)}</b>} closeButtonProps={{ "aria-label": "Close" }}>
      <div className={classes.meta}>
        <span className="dim">
          {artifact.mediaType} · {formatBytes(artifact.byteSize)}
        </span>
        {url !== null && (
          <Button component="a" href={downloadLink(url)} size="xs" variant="default" leftSection={<IconDownload size={14} />}>
            Download
          </Button>
        )}
      </div>
      {isMissing && <p className="bad">{error ? explainFault(error) : "The artifact is no longer kept."}</p>}
      {url === null && !isMissing && <Skeleton height={220} />}
      {url !== null && <ArtifactPreview artifact={artifact} url={url} />}
    </Modal>
  );
}

function downloadLink(url: string): string {
  return `${url}${url.includes("?") ? "&" : "?"}download=1`;
}
