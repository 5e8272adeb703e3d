package archtest

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// mostEmbedded is the most methods of a struct that another one embeds. One with more is embedded for its behaviour, and is a field
// with a name instead. A record that others extend has few.
const mostEmbedded = 4

// embedded are the exceptions, each with its number. A number may only become smaller. Interfaces are not counted: they have no
// behaviour of their own. The three of announce are the stores themselves with some writes announced: to name them again would
// be 52 methods that only pass a call on, and announce_test.go holds that each write of something for clients is announced. Head
// and actor are a run in a list and an agent in a chat, with more fields. The JSON of KeyState has the members of its place
// beside its own.
var embedded = map[string]int{
	"internal/chats/turn.actor:Loop":        11,
	"internal/runs/plan.Head:Run":           26,
	"internal/store/announce.Chats:Store":   40,
	"internal/store/announce.Jobs:Store":    12,
	"internal/store/announce.Runs:Store":    33,
	"internal/tools/tool.KeyState:KeyPlace": 5,
}

// isInterface is the reason of those that wrap an interface: they answer some of its methods, and leave the others to it.
const isInterface = "is an interface"

// fromOutside are the types that embed one from outside, each with its reason. Its methods are promoted, and nothing here counts
// them.
var fromOutside = map[string]string{
	"infra/confirmations.script:Server":                          "is a server of a test",
	"infra/local/fixture/storetest.suite:T":                      "is a test with its store",
	"infra/local/fixture/table.Faults:HTTPClient":                isInterface,
	"infra/local/process.deadlineWriter:ResponseWriter":          isInterface,
	"infra/local/process.engines:Services":                       "has the services and what they stand on",
	"infra/local/process.lateAnswer:ResponseWriter":              isInterface,
	"infra/local/process.limitedConn:Conn":                       isInterface,
	"infra/local/process.limitedListener:Listener":               isInterface,
	"infra/localaws/conformance.running:Subject":                 isInterface,
	"infra/localaws/disk.plainFile:File":                         "is the file, as a logFile",
	"infra/localaws/s3.request:Request":                          "is the request, as S3 reads it",
	"infra/localaws/stepfunctions.decoder:Decoder":               "is the decoder, with a mode",
	"infra/n8n.channel:Server":                                   "is a server of a test",
	"infra/n8n.gate:Server":                                      "is a server of a test",
	"internal/edge/gateway.InvokedHandler:Handler":               isInterface,
	"internal/edge/httpapi.exposition:Buffer":                    "is the text that it writes",
	"internal/edge/httpapi.received:Reader":                      "is the body of a request, which others read again",
	"internal/edge/httpapi.requestSchemas:Registry":              isInterface,
	"internal/edge/telemetry.handler:Handler":                    isInterface,
	"internal/edge/telemetry.response:ResponseWriter":            isInterface,
	"internal/edge/webui.countedBlock:BlockParser":               isInterface,
	"internal/edge/webui.countedInline:InlineParser":             isInterface,
	"internal/edge/webui.countedReader:Reader":                   isInterface,
	"internal/edge/webui.countedReferences:ParagraphTransformer": isInterface,
	"internal/edge/webui.countedTables:ParagraphTransformer":     isInterface,
	"internal/ground/visible.Text:Builder":                       "is the text that it writes",
	"internal/tools/mcp.patience:Context":                        isInterface,
	"internal/workspace/bucket.tries:RetryerV2":                  isInterface,
	"internal/workspace/filetool.section:File":                   "is a record without methods to call: a file of a patch",
	"internal/workspace/folder.opened:File":                      "is the open file, with what was seen of it",
}

func TestNoTypeEmbedsAnotherForItsBehaviour(t *testing.T) {
	counts := map[string]int{}
	eachType(t, func(name string, of types.Type) {
		if s, ok := of.Underlying().(*types.Struct); ok {
			for i := range s.NumFields() {
				if f := s.Field(i); f.Embedded() && ofTheProject(f.Type()) && !types.IsInterface(f.Type()) {
					counts[name+":"+f.Name()] = methodsOf(pointed(f.Type()))
				}
			}
		}
	})
	if len(counts) == 0 {
		t.Error("no embedded structs were found")
	}
	compare(t, "methods", mostEmbedded, counts, embedded)
}

// TestNoTypeEmbedsOneFromOutside, such as a printer its library, whose hundreds of methods would be its own.
func TestNoTypeEmbedsOneFromOutside(t *testing.T) {
	found := map[string]bool{}
	eachType(t, func(name string, of types.Type) {
		s, ok := of.Underlying().(*types.Struct)
		for i := 0; ok && i < s.NumFields(); i++ {
			if f := s.Field(i); f.Embedded() && types.Unalias(pointed(f.Type())) == types.Typ[types.Invalid] {
				at := name + ":" + f.Name()
				if found[at] = true; fromOutside[at] == "" {
					t.Errorf("%s is embedded: make it a field with a name", at)
				}
			}
		}
	})
	for at := range fromOutside {
		if !found[at] {
			t.Errorf("%s: take it off the list", at)
		}
	}
}

// pointed returns the type that a pointer points to, and any other as it is.
func pointed(t types.Type) types.Type {
	if p, ok := t.(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

func ofTheProject(t types.Type) bool {
	n, ok := types.Unalias(pointed(t)).(*types.Named)
	return ok && n.Obj().Pkg() != nil && strings.HasPrefix(n.Obj().Pkg().Path(), "piloto/")
}

// eachType calls a function with each type that a judged package declares, by its folder and its name.
func eachType(t *testing.T, do func(name string, of types.Type)) {
	t.Helper()
	c := checker{files: map[string][]*ast.File{}, done: map[string]*types.Package{}}
	for _, f := range sources(t, false) {
		c.set = f.set
		c.files[f.dir()] = append(c.files[f.dir()], f.syntax)
	}
	for dir := range c.files {
		if !judged(dir) {
			continue
		}
		scope := c.check(dir).Scope()
		for _, name := range scope.Names() {
			if declared, ok := scope.Lookup(name).(*types.TypeName); ok && !declared.IsAlias() {
				do(dir+"."+name, declared.Type())
			}
		}
	}
}
