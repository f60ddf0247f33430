import { Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./ui.module.css";

export function Tag({ children, tone }: { children: ReactNode; tone?: "warn" | "accent" }) {
  return <span className={`${classes.tag} ${tone ?? ""}`}>{children}</span>;
}

export function ScriptedTag() {
  return (
    <Tooltip label="A written conversation answers in place of a model; the tools are real.">
      <span className={`${classes.tag} warn`} tabIndex={0}>
        scripted model
      </span>
    </Tooltip>
  );
}
