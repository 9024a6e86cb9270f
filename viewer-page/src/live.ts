// Following a run while it goes. A closed connection is opened again; nothing is lost, because
// what comes over it is only that there is more to read.

export interface News { status: string; replays: { name: string; bytes: number }[]; has_new_frames: boolean; events_size: number }

export class Following {
  private socket: WebSocket | null = null;
  private closed = false;
  private pause = 500;

  constructor(private run: string, private replay: string, private onNews: (news: News) => void) { this.open(); }

  private open(): void {
    const path = new URL(`api/follow?run=${encodeURIComponent(this.run)}&replay=${encodeURIComponent(this.replay)}`, location.href);
    path.protocol = path.protocol.replace("http", "ws");
    this.socket = new WebSocket(path);
    this.socket.onmessage = (message) => { this.pause = 500; this.onNews(JSON.parse(message.data)); };
    this.socket.onclose = (event) => {
      if (this.closed || event.code === 1000) return;
      setTimeout(() => { if (!this.closed) this.open(); }, this.pause);
      this.pause = Math.min(8000, this.pause * 2);
    };
  }

  close(): void {
    this.closed = true;
    this.socket?.close();
  }
}
