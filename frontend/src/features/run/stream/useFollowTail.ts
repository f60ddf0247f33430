import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { RefObject } from "react";
import type { Phase } from "../model/phase";

export interface FollowTail {
  scrollRef: RefObject<HTMLDivElement | null>;
  contentRef: RefObject<HTMLDivElement | null>;
  /** Where the stream itself begins, below the outcome. */
  streamRef: RefObject<HTMLDivElement | null>;
  /** Live text goes on below what one reads. */
  isBehind: boolean;
  /** The run ended while one read further up. */
  hasNewOutcome: boolean;
  jump: () => void;
  toOutcome: () => void;
}

const NEAR_PX = 32;

/**
 * Follows the end of the stream until the reader scrolls up, then leaves the reader's place alone.
 * When the run ends, a reader who followed is taken to the outcome at the top, any other is told.
 */
export function useFollowTail(phase: Phase): FollowTail {
  const scrollRef = useRef<HTMLDivElement>(null);
  const contentRef = useRef<HTMLDivElement>(null);
  const streamRef = useRef<HTMLDivElement>(null);
  const streamTop = useRef(0);
  const isFollowing = useRef(true);
  const wasLive = useRef(false);
  const [isBehind, setBehind] = useState(false);
  const [hasNewOutcome, setNewOutcome] = useState(false);

  const toEnd = useCallback(() => {
    const scroll = scrollRef.current;
    if (scroll) scroll.scrollTop = scroll.scrollHeight;
  }, []);

  useEffect(() => {
    const scroll = scrollRef.current;
    const content = contentRef.current;
    if (!scroll || !content) return;
    let lastTop = scroll.scrollTop;
    // Only a move upwards is a reader's wish to stay: text that grows moves nothing up.
    const readPlace = () => {
      const isNearEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_PX;
      if (isNearEnd) isFollowing.current = true;
      else if (scroll.scrollTop < lastTop) isFollowing.current = false;
      lastTop = scroll.scrollTop;
      setBehind(!isFollowing.current);
      if (scroll.scrollTop < NEAR_PX) setNewOutcome(false);
    };
    const observer = new ResizeObserver(() => {
      streamTop.current = streamRef.current?.offsetTop ?? 0;
      if (isFollowing.current && phase === "live") toEnd();
    });
    observer.observe(content);
    scroll.addEventListener("scroll", readPlace, { passive: true });
    return () => {
      observer.disconnect();
      scroll.removeEventListener("scroll", readPlace);
    };
  }, [phase, toEnd]);

  // Before the browser paints, so that nobody sees the outcome push the stream down.
  useLayoutEffect(() => {
    if (phase === "live") wasLive.current = true;
    if (phase !== "over" || !wasLive.current) return;
    const scroll = scrollRef.current;
    if (isFollowing.current || scroll === null) {
      scroll?.scrollTo({ top: 0 });
      return;
    }
    setNewOutcome(true);
    // Browsers hold a reader's place by themselves, except at the very top.
    if (scroll.scrollTop === 0) scroll.scrollTop = (streamRef.current?.offsetTop ?? 0) - streamTop.current;
  }, [phase]);

  return {
    scrollRef,
    contentRef,
    streamRef,
    isBehind: isBehind && phase === "live",
    hasNewOutcome,
    jump: toEnd,
    toOutcome: () => {
      scrollRef.current?.scrollTo({ top: 0 });
      setNewOutcome(false);
    },
  };
}
