import base64, hmac, http.server, json, os, time

key = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
handled = set()  # keep these ids for a day or more, in your database

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers["content-length"]), 20_000))
        id, sent_at, signatures = (self.headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
        mac = base64.b64encode(hmac.digest(key, f"{id}.{sent_at}.".encode() + body, "sha256"))
        is_recent = sent_at.isdigit() and abs(time.time() - int(sent_at)) < 300
        is_ours = is_recent and any(hmac.compare_digest(one.encode(), b"v1," + mac) for one in signatures.split())
        if is_ours and id not in handled:
            print(json.dumps(json.loads(body)["data"]), flush=True)  # your part
            handled.add(id)
        self.send_response(204 if is_ours else 401)
        self.end_headers()

http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
