import { Button } from "@mantine/core";
import { IconTimeline } from "@tabler/icons-react";
import { Link } from "wouter";
import { Notice } from "@/ui/Notice";
import { ALL_RUNS } from "./model/filters";
import type { RunFilter } from "./model/filters";

export function NoRuns({ filter }: { filter: RunFilter }) {
  const isFiltered = filter.key !== ALL_RUNS.key;
  return (
    <Notice
      icon={<IconTimeline size={22} />}
      title={isFiltered ? `No ${filter.label.toLowerCase()} runs` : "No runs yet"}
      action={
        <Button component={Link} href={isFiltered ? "/" : "/start"} size="xs" variant="default">
          {isFiltered ? "Show all runs" : "Start a run"}
        </Button>
      }
    >
      {isFiltered
        ? "Nothing has this status at the moment. Runs appear here by themselves when they reach it."
        : "A run gives an agent a task and lets you watch it work. It appears here as soon as it starts, also when it was started from elsewhere."}
    </Notice>
  );
}
