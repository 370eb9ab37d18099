package example.meter;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;

/** Counts events in a sliding window. Not safe for use by several threads. */
public final class Meter {
    private final Deque<Long> events = new ArrayDeque<>();
    private final long windowNanos;

    public Meter(Duration window) {
        this.windowNanos = Objects.requireNonNull(window, "window").toNanos();
    }

    public void mark(long nowNanos) {
        events.addLast(nowNanos);
        while (!events.isEmpty() && events.peekFirst() < nowNanos - windowNanos) {
            events.removeFirst();
        }
    }

    public double ratePerSecond() {
        return events.size() * 1_000_000_000.0 / windowNanos;
    }
}
