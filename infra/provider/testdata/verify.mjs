// Verifies deliveries with the library of Standard Webhooks. Reads JSON from stdin: {secret, cases: [{headers, body, later}]},
// where later is the time in seconds after the delivery at which it is verified. Writes a list: "" for one that verifies,
// else why not.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
const { Webhook } = createRequire(process.argv[2] + "/")("standardwebhooks");
const { secret, cases } = JSON.parse(readFileSync(0, "utf8"));
const now = Date.now;
const said = cases.map(({ headers, body, later }) => {
  Date.now = () => now() + (later || 0) * 1000;
  try {
    new Webhook(secret).verify(body, headers);
    return "";
  } catch (failure) {
    return failure.message || String(failure);
  }
});
console.log(JSON.stringify(said));
