// An independent OpenAI-compatible server (@copilotkit/aimock) that answers by
// what the person said. Arguments: port, the folder it is installed in, the id
// of the service that its plan calls.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [port, folder, mcp] = process.argv.slice(2);
const require = createRequire(pathToFileURL(folder + "/"));
const { LLMock } = await import(pathToFileURL(require.resolve("@copilotkit/aimock")));

const step = (id, method, path, rest) => ({ id, title: id, mcp_id: mcp, method, path, ...rest });
const mock = new LLMock({ port: Number(port) });

// What came of a run; then a question, an order and a job: each looks first, and goes on from the rows.
mock.on({ systemMessage: "<ended>" }, { content: "Hecho: la Sala Este es tuya, de 10:00 a 11:00." });
const call = (name, args) => ({ toolCalls: [{ name, arguments: JSON.stringify(args) }] });
const rows = (req) => JSON.parse(JSON.parse(req.messages.at(-1).content).answer).items;
const cheapest = (req) => rows(req).reduce((a, b) => (b.price_per_hour < a.price_per_hour ? b : a));
const day = (req) => /\d{4}-\d\d-\d\d/.exec(JSON.stringify(req.messages.findLast((m) => m.role === "user").content))[0];
const look = (req) => call("look", { mcp_id: mcp, path: "/rooms", query: { capacity: 4, free_on: day(req) } });
const book = (req) => call("mcp_request", {
  mcp_id: mcp, method: "POST", path: "/reservations", body: { room_id: cheapest(req).id, date: day(req), start: "10:00", end: "11:00", people: 4 },
});
for (const asked of [/qué salas/, /la más barata/, /encárgate/]) {
  mock.on({ userMessage: asked, hasToolResult: false }, look);
}
mock.on({ userMessage: /qué salas/, hasToolResult: true }, (req) => ({ content: "Libres: " + rows(req).map((room) => room.name).join(", ") + "." }));
mock.on({ userMessage: /la más barata/, hasToolResult: true }, book);
mock.on({ userMessage: /encárgate/, toolResultContains: '"status":"done"' }, { content: "Hecho: la Sala Este es tuya." });
mock.on({ userMessage: /encárgate/, hasToolResult: true }, book);

mock.onMessage(/hola/, { content: "Hola desde fuera." });
mock.onMessage(/reserva/, {
  toolCalls: [{
    name: "propose_plan",
    arguments: JSON.stringify({
      goal: "Reservar una sala",
      steps: [
        step("s1", "GET", "/rooms", { query: { capacity: 6 } }),
        step("s2", "POST", "/reservations", {
          body: { room_id: "${s1.body.items[0].id}", date: "2030-01-02", start: "10:00", end: "11:00", people: 6 },
        }),
      ],
    }),
  }],
});
mock.onMessage(/cuento/, { content: "Érase una vez un servicio. Respondía siempre. Fin." }, { chunkSize: 12, latency: 40 });
const fails = (word, status, rest) => mock.onMessage(word, { error: { message: "no", type: "error" }, status, ...rest });
fails(/limite/, 429, { retryAfter: 1 });
fails(/clave/, 401);
fails(/roto/, 500);
fails(/modelo/, 404);
mock.onMessage(/cortado/, { content: "Esto empieza bien. Y se corta a la mitad." }, { chunkSize: 8, truncateAfterChunks: 3 });
mock.onMessage(/cuelga/, { content: "nunca llega" }, { chaos: { disconnectRate: 1 } });
mock.onMessage(/basura/, { content: "no es JSON" }, { chaos: { malformedRate: 1 } });
const decided = JSON.stringify({ action: "respond", agent_name: null, response: "Aquí estoy." });
mock.on({ userMessage: /decide/, responseFormat: "json_schema" }, { content: decided });
const handed = JSON.stringify({ action: "delegate", agent_name: "reserva", response: "" });
mock.on({ userMessage: /una sala/, responseFormat: "json_schema" }, { content: "```json\n" + handed + "\n```" });
mock.on({ userMessage: /garabato/, responseFormat: "json_schema" }, { content: "{" });
mock.on({ userMessage: /sin forma/, responseFormat: "json_schema" }, {
  error: { message: "This response_format type is unavailable now", type: "invalid_request_error" }, status: 400,
});
mock.on({ userMessage: /sin forma/, toolName: "decision" }, { toolCalls: [{ name: "decision", arguments: decided }] });
mock.onMessage(/mudo/, { content: "" });
await mock.start();
console.log("ready");
