import type { KeyboardEvent, PointerEvent } from "react";
import classes from "./Panes.module.css";

interface Props {
  label: string;
  width: number;
  initial: number;
  least: number;
  most: number;
  /** The direction in which dragging makes the pane wider. */
  grows: "left" | "right";
  onChange: (width: number) => void;
}

const KEY_STEP = 16;

export function Separator({ label, width, initial, least, most, grows, onChange }: Props) {
  const sign = grows === "right" ? 1 : -1;
  const resize = (next: number) => onChange(Math.round(Math.min(most, Math.max(least, next))));

  function drag(event: PointerEvent<HTMLDivElement>) {
    const handle = event.currentTarget;
    const startX = event.clientX;
    handle.setPointerCapture(event.pointerId);
    const move = (moved: globalThis.PointerEvent) => resize(width + sign * (moved.clientX - startX));
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", move), { once: true });
  }

  function pressKey({ key }: KeyboardEvent) {
    if (key === "ArrowRight") resize(width + sign * KEY_STEP);
    if (key === "ArrowLeft") resize(width - sign * KEY_STEP);
    if (key === "Home") resize(least);
    if (key === "End") resize(most);
  }

  return (
    <div
      role="separator"
      aria-label={label}
      aria-orientation="vertical"
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuenow={width}
      tabIndex={0}
      className={classes.separator}
      onPointerDown={drag}
      onKeyDown={pressKey}
      onDoubleClick={() => resize(initial)}
    />
  );
}
