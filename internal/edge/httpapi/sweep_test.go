package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"piloto/infra/local/fixture/cost"
)

// badBodies derives bad bodies from a good one, by the code of their refusal. members are the names that the route
// knows.
func badBodies(good string, members map[string]bool) map[string][]string {
	with := func(member string) string { // with one more member, before the others
		if strings.TrimSpace(strings.Trim(good, "{} ")) == "" {
			return "{" + member + "}"
		}
		return "{" + member + "," + good[1:]
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	bodies := map[string][]string{
		"request.encoding": {
			with("\"zz\":\"\xff\""), with("\"zz\":\"\xc0\xaf\""), with("\"zz\":\"\xed\xa0\x80\""), with("\"\xff\":1"), "\xff", with("\"zz\":\"\x00\""), good + "\x00",
			with(`"zz":"\ud800"`), with(`"zz":"\ud800x"`), with(`"zz":"\ude00"`), with(`"zz":"\ude00\ud83d"`), with(`"\ud800":1`), with(`"zz":"\u0000"`), with(`"\u0000":1`), with(`"zz":{"a":["\udfff"]}`),
		},
		"request.number_range": {
			with(`"zz":1e400`), with(`"zz":-1e400`), with(`"zz":[{"a":1E+400}]`), with(`"zz":1` + strings.Repeat("0", 400)), with(`"zz":0.` + strings.Repeat("1", 300)),
		},
		"request.too_deep":     {with(`"zz":` + deep(64)), with(`"zz":` + strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64)), strings.Repeat("[", 100_000)},
		"request.json_invalid": {good + " {}", good + ",", "{", good[:len(good)-1], "\xef\xbb\xbf\xef\xbb\xbf" + good, "x\xef\xbb\xbf" + good, with(`"zz":01`), with(`"zz":NaN`), with(`"zz":'a'`), "nul"},
		"request.too_large":    {good + strings.Repeat(" ", MaxBody+1-len(good)), with(`"zz":"` + strings.Repeat("x", MaxBody) + `"`)},
		"request.invalid": {
			with(`"zz":1,"zz":2`), with(`"zz":1,"\u007az":2`), with(`"zz":{"a":1,"a":1}`), with(`"zz":[[{"a":1,"b":2,"a":3}]]`),
			with(`"zz":1,"ZZ":2`), with(`"zz":1,"Zz":1`), with(`"zz":{"a":1,"A":2}`), with(`"zk":1,"z` + "\u212a" + `":2`), with(`"zs":1,"z` + "\u017f" + `":2`),
		},
	}
	invalid := bodies["request.invalid"]
	for name := range members {
		invalid = append(invalid, `{"`+name+`":null,"`+name+`":null}`, `{"`+strings.ToUpper(name)+`":null}`, with(`"`+strings.ToUpper(name[:1])+name[1:]+`":null`))
		if long := strings.ReplaceAll(name, "s", "\u017f"); long != name {
			invalid = append(invalid, `{"`+long+`":null}`)
		}
	}
	bodies["request.invalid"] = invalid
	return bodies
}

// unread fails the test when it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.ErrUnexpectedEOF
}

// TestALargeDeclaredBodyIsNotAwaited: a client that declares a large body and sends nothing would occupy a
// connection until its timeout.
func TestALargeDeclaredBodyIsNotAwaited(t *testing.T) {
	eachRoute(t, func(t *testing.T, r *route, _, good string) {
		if good == "" {
			return
		}
		request := ask(boss, r.method, pathOf(r, ownID(r.pattern)), good)
		request.Body, request.ContentLength = io.NopCloser(unread{t}), MaxBody+1
		if w := newSite().do(request); w.Code != http.StatusRequestEntityTooLarge || decode(t, w)["code"] != "request.too_large" {
			t.Errorf("%d %.120s", w.Code, w.Body)
		}
	})
}

// TestNoRouteAcceptsABadBody: encoding/json repairs, drops or misreads some bodies. Every route with a body refuses
// these, and changes nothing.
func TestNoRouteAcceptsABadBody(t *testing.T) {
	statuses := map[string]int{"request.too_large": http.StatusRequestEntityTooLarge, "request.invalid": http.StatusUnprocessableEntity}
	swept := 0
	eachRoute(t, func(t *testing.T, r *route, _, good string) {
		if good == "" {
			return
		}
		swept++
		path := pathOf(r, ownID(r.pattern))
		for code, bodies := range badBodies(good, r.bound().members) {
			want := statuses[code]
			if want == 0 {
				want = http.StatusBadRequest
			}
			for _, body := range bodies {
				s := newSite()
				w := s.do(ask(boss, r.method, path, body))
				if w.Code != want || decode(t, w)["code"] != code {
					t.Errorf("%.60q: %d %.120s, want %d %s", body, w.Code, w.Body, want, code)
				}
				if s.count() != 0 {
					t.Errorf("%.60q: refused, and yet %d calls", body, s.count())
				}
			}
		}
	})
	if swept < 25 {
		t.Errorf("only %d routes read a body", swept)
	}
}

// TestEveryRouteReadsTheLargestBody: a body of the documented limit is read, also with a number of twenty digits.
func TestEveryRouteReadsTheLargestBody(t *testing.T) {
	if testing.Short() {
		t.Skip("large bodies")
	}
	eachRoute(t, func(t *testing.T, r *route, _, good string) {
		if good == "" {
			return
		}
		path := pathOf(r, ownID(r.pattern))
		if w := newSite().do(ask(boss, r.method, path, good+strings.Repeat(" ", MaxBody-len(good)))); w.Code/100 != 2 {
			t.Errorf("%d bytes: %d %s", MaxBody, w.Code, w.Body)
		}
		for _, value := range []string{"12345678901234567890", "-0.12345678901234567890e-5", `"\ud83d\ude00"`, strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1)} {
			w := newSite().do(ask(boss, r.method, path, `{"zz":`+value+`}`))
			if w.Code/100 != 2 && decode(t, w)["code"] != "request.invalid" { // the other required members are missing
				t.Errorf("%.30s: %d %s", value, w.Code, w.Body)
			}
		}
	})
}

// TestCheckingABodyIsLinear for every shape. The names of a route were once folded again for each member.
func TestCheckingABodyIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("large bodies")
	}
	const size = MaxBody - 100
	members := map[string]bool{}
	for r := range described().router.routes {
		for name := range described().router.routes[r].bound().members {
			members[name] = true
		}
	}
	list := func(unit string) string { return "[" + strings.Repeat(unit+",", size/(len(unit)+1)) + "1]" }
	hostile := cost.Repeated(size, "[", "{", `{"a":`, `"`, `\`, " ", "9", `"\ud83d`)
	for _, unit := range []string{`{"a":1,"A":2,"a":3}`, `"\u00e9"`, `"\ud83d\ude00"`, "1", "{}", `""`, `{"` + strings.Repeat("\u212a", 200) + `":1}`} {
		hostile["a list of "+unit] = list(unit)
	}
	var names strings.Builder
	for i := 0; names.Len() < size; i++ {
		_, _ = fmt.Fprintf(&names, `"k%d":1,`, i)
	}
	hostile["members"] = `{` + names.String() + `"z":1}`
	hostile["one member"] = `{` + strings.Repeat(`"a":1,`, size/6) + `"a":1}`
	hostile["deep"] = strings.Repeat("[", maxDepth-1) + list("1") + strings.Repeat("]", maxDepth-1)
	cost.Alike(t, "checkJSON", func(s string) { _, _ = checkJSON([]byte(s), members) }, list(`{"name":"Sala Norte","capacity":6}`), hostile)
}
