import { Button } from "@mantine/core";
import { IconEyeOff } from "@tabler/icons-react";
import type { CombinedError } from "urql";
import { Link } from "wouter";
import { Page } from "@/app/shell/Page";
import { TopBar } from "@/app/shell/TopBar";
import { FaultNotice } from "@/ui/FaultNotice";
import { Notice } from "@/ui/Notice";

export function RunUnavailable({ error, onRetry }: { error: CombinedError | undefined; onRetry: () => void }) {
  const bar = <TopBar parents={[{ href: "/", label: "Runs" }]} here="Not available" />;
  if (error !== undefined) {
    return (
      <Page title="Run" bar={bar}>
        <FaultNotice error={error} title="The run cannot be shown" onRetry={onRetry} />
      </Page>
    );
  }
  return (
    <Page title="Run not found" bar={bar}>
      <Notice
        icon={<IconEyeOff size={22} />}
        title="There is no such run for you"
        action={
          <Button component={Link} href="/" size="xs" variant="default">
            See the runs
          </Button>
        }
      >
        It does not exist, or it belongs to a project that is not open to you. Ask its owner for access.
      </Notice>
    </Page>
  );
}
