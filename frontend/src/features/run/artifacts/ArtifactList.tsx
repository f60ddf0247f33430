import { IconFile, IconFileText, IconPhoto, IconTable } from "@tabler/icons-react";
import { useState } from "react";
import { formatBytes, formatFileName } from "@/lib/format";
import type { ArtifactView } from "../model/types";
import { ArtifactModal } from "./ArtifactModal";
import { ArtifactPicture } from "./ArtifactPicture";
import classes from "./artifacts.module.css";
import { previewKind } from "./kinds";

const ICONS = { image: IconPhoto, table: IconTable, markdown: IconFileText, text: IconFileText, none: IconFile };

interface Props {
  artifacts: ArtifactView[];
  /** Shows the newest picture above the names. */
  withPicture?: boolean;
}

export function ArtifactList({ artifacts, withPicture = false }: Props) {
  const [openId, setOpenId] = useState<string | null>(null);
  const open = artifacts.find(({ id }) => id === openId);
  if (artifacts.length === 0) return null;
  const picture = withPicture ? artifacts.findLast(({ mediaType, byteSize }) => previewKind(mediaType, byteSize) === "image") : undefined;
  return (
    <div className={classes.list} role="group" aria-label="Artifacts">
      {picture && <ArtifactPicture key={picture.id} artifact={picture} onOpen={() => setOpenId(picture.id)} />}
      {artifacts.map((artifact) => {
        const Icon = ICONS[previewKind(artifact.mediaType, artifact.byteSize)];
        return (
          <button key={artifact.id} type="button" className={classes.chip} onClick={() => setOpenId(artifact.id)}>
            <Icon size={14} aria-hidden />
            <span className={classes.name}>{formatFileName(artifact.name)}</span>
            <span className="faint">· {formatBytes(artifact.byteSize)}</span>
          </button>
        );
      })}
      {open && <ArtifactModal artifact={open} onClose={() => setOpenId(null)} />}
    </div>
  );
}
