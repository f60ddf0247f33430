import { ActionIcon } from "@mantine/core";
import { IconPaperclip, IconX } from "@tabler/icons-react";
import { useRef, useState } from "react";
import type { DragEvent } from "react";
import { formatBytes } from "@/lib/format";
import type { DraftFile } from "./model/draft";
import { readFile } from "./readFile";
import classes from "./start.module.css";

interface Props {
  files: DraftFile[];
  error: string | undefined;
  onChange: (files: DraftFile[]) => void;
}

export function FileDrop({ files, error, onChange }: Props) {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);

  async function add(list: FileList | null) {
    const added = await Promise.all(Array.from(list ?? [], readFile));
    const names = new Set(added.map(({ name }) => name));
    onChange([...files.filter(({ name }) => !names.has(name)), ...added]);
  }

  function drop(event: DragEvent) {
    event.preventDefault();
    setOver(false);
    void add(event.dataTransfer.files);
  }

  return (
    <div>
      <span className={classes.label}>Files</span>
      <button
        type="button"
        className={classes.drop}
        data-over={isOver || undefined}
        onClick={() => input.current?.click()}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <IconPaperclip size={16} aria-hidden />
        <span>
          Drop files here or choose them. The agent finds them in <code>/workspace/inputs</code>.
        </span>
      </button>
      <input ref={input} type="file" multiple hidden onChange={(event) => void add(event.currentTarget.files)} />
      {files.map((file) => (
        <div key={file.name} className={classes.file}>
          <code>{file.name}</code>
          <span className="dim num">{formatBytes(file.byteSize)}</span>
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-label={`Remove ${file.name}`}
            onClick={() => onChange(files.filter(({ name }) => name !== file.name))}
          >
            <IconX size={14} />
          </ActionIcon>
        </div>
      ))}
      {error !== undefined && (
        <p role="alert" className={`bad ${classes.fault}`}>
          {error}
        </p>
      )}
    </div>
  );
}
