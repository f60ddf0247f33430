import { Code, CopyButton, Button } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";
import { useTitle } from "./shell/Page";
import { Notice } from "@/ui/Notice";

const COMMAND = "vitrine studio-link";

export function SignedOut() {
  useTitle("Signed out");
  return (
    <main id="main">
      <Notice
        icon={<IconKey size={22} />}
        title="You are signed out"
        action={
          <CopyButton value={COMMAND}>
            {({ copied, copy }) => (
              <Button size="xs" variant="default" onClick={copy}>
                {copied ? "Copied" : "Copy the command"}
              </Button>
            )}
          </CopyButton>
        }
      >
        <p>Studio has no passwords. On the machine that runs the server, run</p>
        <Code block>{COMMAND}</Code>
        <p>and open the link that it prints. The link works once and signs this browser in.</p>
      </Notice>
    </main>
  );
}
