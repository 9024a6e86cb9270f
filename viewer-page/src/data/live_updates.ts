// Updates of a running run over a WebSocket. A closed connection is opened again; nothing is lost,
// because a message says only that there is more to read.

export interface Update { status: string; replays: { name: string; bytes: number }[]; has_new_frames: boolean; events_size: number }

const HEARTBEAT = 20_000; // milliseconds between two signs of life; the server drops a page that is silent for longer
const FIRST_DELAY = 500, MAX_DELAY = 8000; // milliseconds before connecting again

export class LiveUpdates {
  private socket: WebSocket | null = null;
  private closed = false;
  private delay = FIRST_DELAY;
  private heartbeat = setInterval(() => { if (this.socket?.readyState === WebSocket.OPEN) this.socket.send("alive"); }, HEARTBEAT);

  constructor(private run: string, private replay: string, private onUpdate: (update: Update) => void) { this.open(); }

  private open(): void {
    const url = new URL(`api/updates?run=${encodeURIComponent(this.run)}&replay=${encodeURIComponent(this.replay)}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    this.socket = new WebSocket(url);
    this.socket.onmessage = (message) => { this.delay = FIRST_DELAY; this.onUpdate(JSON.parse(message.data)); };
    this.socket.onclose = (event) => {
      if (event.code === 1000) clearInterval(this.heartbeat); // the run has ended
      if (this.closed || event.code === 1000) return;
      setTimeout(() => { if (!this.closed) this.open(); }, this.delay);
      this.delay = Math.min(MAX_DELAY, this.delay * 2);
    };
  }

  close(): void {
    this.closed = true;
    clearInterval(this.heartbeat);
    this.socket?.close();
  }
}
