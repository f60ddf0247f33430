import { Button } from "@mantine/core";
import { IconMapQuestion } from "@tabler/icons-react";
import { Link } from "wouter";
import { Page } from "./shell/Page";
import { TopBar } from "./shell/TopBar";
import { Notice } from "@/ui/Notice";

export function NotFound() {
  return (
    <Page title="Not found" bar={<TopBar here="Not found" />}>
      <Notice
        icon={<IconMapQuestion size={22} />}
        title="There is no such page"
        action={
          <Button component={Link} href="/" size="xs" variant="default">
            See the runs
          </Button>
        }
      >
        The address may be mistyped or from another version of Studio.
      </Notice>
    </Page>
  );
}
