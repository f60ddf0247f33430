import { Tabs } from "@mantine/core";
import { useLocalStorage, useMediaQuery } from "@mantine/hooks";
import { useEffect, useState } from "react";
import type { CSSProperties, ReactNode } from "react";
import classes from "./Panes.module.css";
import { Separator } from "./Separator";

interface Props {
  steps: ReactNode;
  stream: ReactNode;
  details: ReactNode;
  /** The call that a person chose. */
  chosen: string | null;
}

const STEPS = { initial: 272, least: 180, most: 480 };
const DETAILS = { initial: 320, least: 240, most: 640 };
const NARROW = "(max-width: 900px)";

/** Three panes whose widths are remembered; on a narrow screen, tabs. */
export function Panes(props: Props) {
  const isNarrow = useMediaQuery(NARROW, undefined, { getInitialValueInEffect: false });
  return isNarrow ? <Tabbed {...props} /> : <SideBySide {...props} />;
}

function SideBySide({ steps, stream, details }: Props) {
  const [left, setLeft] = useLocalStorage({ key: "run.stepsWidth", defaultValue: STEPS.initial, getInitialValueInEffect: false });
  const [right, setRight] = useLocalStorage({ key: "run.detailsWidth", defaultValue: DETAILS.initial, getInitialValueInEffect: false });
  const style = { "--left": `${left}px`, "--right": `${right}px` } as CSSProperties;
  return (
    <main id="main" tabIndex={-1} className={classes.panes} style={style}>
      <section className={classes.side} aria-label="Steps">
        {steps}
      </section>
      <Separator label="Width of the steps" {...STEPS} width={left} grows="right" onChange={setLeft} />
      <section className={classes.middle} aria-label="Stream">
        {stream}
      </section>
      <Separator label="Width of the details" {...DETAILS} width={right} grows="left" onChange={setRight} />
      <section className={classes.side} aria-label="Details">
        {details}
      </section>
    </main>
  );
}

function Tabbed({ steps, stream, details, chosen }: Props) {
  const [tab, setTab] = useState<string | null>("stream");
  // Choosing a step has no visible effect while its details are behind another tab.
  useEffect(() => setTab((current) => (chosen !== null && current === "steps" ? "details" : current)), [chosen]);
  return (
    <main id="main" tabIndex={-1} className={classes.tabbed}>
      <Tabs value={tab} onChange={setTab} className={classes.tabs} keepMounted={false}>
        <Tabs.List grow>
          <Tabs.Tab value="steps">Steps</Tabs.Tab>
          <Tabs.Tab value="stream">Stream</Tabs.Tab>
          <Tabs.Tab value="details">Details</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="steps" className={classes.side}>
          {steps}
        </Tabs.Panel>
        <Tabs.Panel value="stream" className={classes.middle}>
          {stream}
        </Tabs.Panel>
        <Tabs.Panel value="details" className={classes.side}>
          {details}
        </Tabs.Panel>
      </Tabs>
    </main>
  );
}
