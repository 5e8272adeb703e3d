// Validates state machines with asl-validator, whose folder (the one that holds
// node_modules) is the argument: a JSON list of definitions comes in, a list of
// its complaints about each goes out.
//
// The validator compiles its schemas anew for every machine, a third of a second
// each. They are the same every time, so that one compiled set is shared.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "package.json"));
const ajv = createRequire(require.resolve("asl-validator"))("ajv");
const Compiled = ajv.default;
let shared;
ajv.default = function (options) {
  if (shared) {
    shared.addKeyword = shared.addFormat = () => shared; // it has them
  }
  return (shared ??= new Compiled(options));
};
const validate = require("asl-validator");
const machines = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(machines.map((m) => validate(m).errors.map((e) => e.Message ?? e.message ?? JSON.stringify(e)))));
