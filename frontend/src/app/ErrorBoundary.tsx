import { Button } from "@mantine/core";
import { IconBug } from "@tabler/icons-react";
import { Component } from "react";
import type { ReactNode } from "react";
import { Notice } from "@/ui/Notice";

/** Keeps a fault of one page from emptying the window; runs on the server go on regardless. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { fault: Error | null }> {
  override state = { fault: null as Error | null };

  static getDerivedStateFromError(fault: Error) {
    return { fault };
  }

  override render() {
    if (this.state.fault === null) return this.props.children;
    return (
      <main id="main">
        <Notice
          role="alert"
          icon={<IconBug size={22} />}
          title="This page failed"
          action={
            <Button size="xs" variant="default" onClick={() => location.reload()}>
              Reload the page
            </Button>
          }
        >
          <p>Your runs go on: only the display stopped.</p>
          <code>{this.state.fault.message}</code>
        </Notice>
      </main>
    );
  }
}
