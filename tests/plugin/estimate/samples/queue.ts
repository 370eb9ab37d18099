import { EventEmitter } from "node:events";

export interface Job<T> {
  readonly id: string;
  priority: number;
  run: (signal: AbortSignal) => Promise<T>;
}

export class WorkQueue<T> extends EventEmitter {
  private readonly waiting: Job<T>[] = [];
  private active = 0;

  constructor(private readonly width = 4, private readonly timeoutMs = 30_000) {
    super();
  }

  push(job: Job<T>): void {
    const index = this.waiting.findIndex((other) => other.priority < job.priority);
    this.waiting.splice(index === -1 ? this.waiting.length : index, 0, job);
    void this.drain();
  }

  private async drain(): Promise<void> {
    while (this.active < this.width && this.waiting.length > 0) {
      const job = this.waiting.shift()!;
      this.active += 1;
      const controller = new AbortController();
      const timer = setTimeout(() => controller.abort(), this.timeoutMs);
      try {
        this.emit("done", job.id, await job.run(controller.signal));
      } catch (error) {
        this.emit("failed", job.id, error);
      } finally {
        clearTimeout(timer);
        this.active -= 1;
      }
    }
  }
}
