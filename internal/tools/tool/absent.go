package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"piloto/internal/ground/jcs"
)

// maxAbsentRounds limits how often arguments are checked to find the nulls that stand for nothing. One check reports at
// most maxProblems.
const maxAbsentRounds = 10

// WithoutAbsent returns the arguments of a tool without the members that are null, optional, and not null by their
// schema: models write null for an argument that they leave out. With refs a string that holds a reference is not known
// yet, as in Check. Anything else stays, and so does everything that the schema does not describe.
func (op Operation) WithoutAbsent(s Compiler, body json.RawMessage, refs bool) json.RawMessage {
	if op.Name == "" || !bytes.Contains(body, []byte("null")) {
		return body
	}
	if isAbsent(body) {
		return json.RawMessage("{}")
	}
	drop, needed := map[string]bool{}, map[string]bool{} // JSON Pointers, of nulls that are left out and of those that are required
	for range maxAbsentRounds {
		v, err := readValue(leaveOut(body, "/body", drop))
		if err != nil {
			return body
		}
		changed := false
		for _, p := range op.check(s, Arguments{Body: leaveOut(body, "/body", drop)}, refs) {
			switch at, isNull := valueAt(v, p.Loc); {
			case p.Type == "missing" && drop[p.Loc]:
				delete(drop, p.Loc)
				needed[p.Loc], changed = true, true
			case p.Type != "unknown" && at && isNull && !needed[p.Loc]:
				drop[p.Loc], changed = true, true
			}
		}
		if !changed {
			break
		}
	}
	return leaveOut(body, "/body", drop)
}

// valueAt reports whether a member of an object stands at a place of a body, and whether it is null.
func valueAt(v any, loc string) (isMember, isNull bool) {
	rest, ok := strings.CutPrefix(loc, "/body/")
	if !ok {
		return false, false
	}
	for part := range strings.SplitSeq(rest, "/") {
		switch in := v.(type) {
		case map[string]any:
			if v, isMember = in[fromToken.Replace(part)]; !isMember {
				return false, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if isMember = false; err != nil || i < 0 || i >= len(in) {
				return false, false
			}
			v = in[i]
		default:
			return false, false
		}
	}
	return isMember, v == nil
}

var fromToken = strings.NewReplacer("~1", "/", "~0", "~")

// leaveOut returns a value without the members at some places. The others keep their order and their digits.
func leaveOut(raw json.RawMessage, at string, drop map[string]bool) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(drop) == 0 || len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return raw
	}
	var parts []string
	if raw[0] == '[' {
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return raw
		}
		for i, e := range elements {
			parts = append(parts, string(leaveOut(e, fmt.Sprintf("%s/%d", at, i), drop)))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	}
	list, ok := members(raw)
	if !ok {
		return raw
	}
	for _, m := range list {
		place := at + "/" + Token(m.name)
		if drop[place] {
			continue
		}
		name, err := jcs.Marshal(m.name)
		if err != nil {
			return raw
		}
		parts = append(parts, string(name)+":"+string(leaveOut(m.value, place, drop)))
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}
