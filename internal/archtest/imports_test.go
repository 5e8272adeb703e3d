package archtest

import (
	"slices"
	"strings"
	"testing"
)

// layer is a set of packages and what of ours they may import.
type layer struct {
	name     string
	packages []string
	imports  []string // layers
	because  string
}

// layers, from the bottom. A package that stands in none fails the test.
var layers = []layer{
	{
		"vocabulary",
		[]string{"internal/fault", "internal/fold", "internal/ident", "internal/locale", "internal/netfail", "internal/parallel", "internal/redact", "internal/render"},
		[]string{"vocabulary"},
		"words that everyone uses can depend on no one but one another",
	},
	{
		"moment",
		[]string{"internal/failpoint"},
		nil, "it is compiled to nothing but in the test of crashes, and may stand anywhere",
	},
	{
		"states",
		[]string{"statemachines"},
		nil, "the definition of a run is deployed by itself",
	},
	{
		"domain",
		[]string{
			"internal/agent", "internal/auth", "internal/canon", "internal/command", "internal/conversation", "internal/credit",
			"internal/eligibility", "internal/intent", "internal/llm", "internal/plan", "internal/rate", "internal/realtime",
			"internal/receipt", "internal/ref", "internal/replay", "internal/rule", "internal/run", "internal/schema", "internal/step", "internal/tally", "internal/tool", "internal/turn",
		},
		[]string{"vocabulary", "domain", "moment"},
		"what Piloto does must not depend on what it runs on",
	},
	{
		"adapter",
		[]string{
			"internal/dynamo", "internal/gateway", "internal/httpapi", "internal/kms", "internal/mcp", "internal/openai",
			"internal/openapi", "internal/outbound", "internal/push", "internal/secrets", "internal/stepfn", "internal/telemetry", "internal/webui",
		},
		[]string{"vocabulary", "domain", "states", "moment"},
		"an adapter wraps one technology: two that meet could not be replaced one by one",
	},
	{
		"composition",
		[]string{"internal/boot"},
		[]string{"vocabulary", "domain", "states", "adapter", "composition"},
		"one place joins the parts, and nothing joins that place",
	},
	{
		"function",
		[]string{"functions"},
		[]string{"composition"},
		"a main wires and starts, nothing else",
	},
	{
		"engine",
		[]string{
			"infra/local/apigateway", "infra/local/disk", "infra/local/dynamodb", "infra/local/inproc", "infra/local/lambda",
			"infra/local/secretsmanager", "infra/local/stepfunctions", "infra/local/template", "infra/local/websocket",
		},
		[]string{"engine", "moment"},
		"an engine that knew Piloto would prove nothing about it",
	},
	{
		"deployment",
		[]string{"infra"},
		[]string{"vocabulary", "domain", "states", "adapter", "composition", "engine", "deployment", "moment"},
		"the one-process deployment uses everything, and nothing that is deployed knows it",
	},
	{
		"architecture",
		[]string{"internal/archtest"},
		[]string{"adapter", "engine"},
		"it looks at everything",
	},
}

// layerOf returns the layer of a package, the most narrowly named first.
func layerOf(dir string) (layer, bool) {
	best, length := layer{}, -1
	for _, l := range layers {
		for _, p := range l.packages {
			if within(dir, p) && len(p) > length {
				best, length = l, len(p)
			}
		}
	}
	return best, length >= 0
}

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range sources(t, false) {
		from, ok := layerOf(f.dir())
		if !ok {
			t.Errorf("%s: the package %s stands in no layer", f.path, f.dir())
			continue
		}
		for _, imported := range f.imports() {
			dir, ours := strings.CutPrefix(imported, "piloto/")
			if !ours || within(dir, f.dir()) {
				continue
			}
			to, ok := layerOf(dir)
			if !ok || !slices.Contains(from.imports, to.name) {
				t.Errorf("%s imports %s (%s): %s", f.path, dir, to.name, from.because)
			}
		}
	}
}

// ban is a package that some may not import.
type ban struct {
	who     string // a layer
	what    []string
	because string
}

var bans = []ban{
	{"domain", []string{"net/http", "os", "os/exec", "syscall"}, "the domain has no network, no files and no processes: it is given what it needs"},
	{"domain", []string{"github.com/aws"}, "the domain does not know where it runs"},
	{"vocabulary", []string{"net/http", "os", "github.com/aws"}, "words have no effects"},
	{"states", []string{"github.com/aws"}, "the definition is data"},
	{"function", []string{"github.com", "net/http", "os"}, "a main wires and starts, nothing else"},
	{"adapter", []string{"os", "os/exec"}, "what an adapter needs from the machine it is given by boot"},
}

func TestLayersStayOutOfWhatIsNotTheirs(t *testing.T) {
	for _, f := range sources(t, false) {
		from, _ := layerOf(f.dir())
		for _, b := range bans {
			if b.who != from.name {
				continue
			}
			for _, imported := range f.imports() {
				if within(imported, b.what...) {
					t.Errorf("%s imports %s: %s", f.path, imported, b.because)
				}
			}
		}
	}
}

// owners are the libraries that one package wraps, so that it alone must change
// with them. boot builds the AWS clients that it hands over.
var owners = map[string][]string{
	"code.dny.dev/ssrf":                                            {"internal/outbound"},
	"github.com/aws/aws-lambda-go":                                 {"internal/gateway"},
	"github.com/aws/aws-sdk-go-v2/feature":                         {"internal/dynamo"},
	"github.com/aws/aws-sdk-go-v2/service/dynamodb":                {"internal/dynamo", "internal/boot", "infra/local/template"},
	"github.com/aws/aws-sdk-go-v2/service/sfn":                     {"internal/stepfn", "internal/boot"},
	"github.com/aws/aws-sdk-go-v2/service/kms":                     {"internal/kms"},
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager":          {"internal/secrets", "internal/boot"},
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi": {"internal/push"},
	"github.com/caarlos0/env":                                      {"internal/boot"},
	"github.com/coder/websocket":                                   {"infra/local/websocket"},
	"github.com/modelcontextprotocol/go-sdk":                       {"internal/mcp"},
	"github.com/danielgtaylor/huma":                                {"internal/httpapi"},
	"github.com/getkin/kin-openapi":                                {"internal/openapi"},
	"github.com/gowebpki/jcs":                                      {"internal/canon", "internal/plan"},
	"github.com/oklog/ulid":                                        {"internal/ident"},
	"github.com/santhosh-tekuri/jsonschema":                        {"internal/schema"},
	"github.com/sashabaranov/go-openai":                            {"internal/openai"},
	"github.com/yuin/goldmark":                                     {"internal/webui"},
	"go.etcd.io/bbolt":                                             {"infra/local/disk"},
	"mvdan.cc/sh":                                                  {"internal/command"},
}

func TestEachLibraryHasOneOwner(t *testing.T) {
	for _, f := range sources(t, false) {
		from, _ := layerOf(f.dir())
		if from.name == "deployment" {
			continue // it builds clients and demonstrations of its own
		}
		for _, imported := range f.imports() {
			for library, owner := range owners {
				if within(imported, library) && !within(f.dir(), owner...) {
					t.Errorf("%s imports %s, which is %s's to wrap", f.path, imported, strings.Join(owner, " and "))
				}
			}
		}
	}
}

func TestOnlyBootReadsTheEnvironment(t *testing.T) {
	for _, f := range sources(t, false) {
		if within(f.dir(), "internal/boot", "infra") {
			continue
		}
		for _, n := range calls(f, "os", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv") {
			t.Errorf("%s reads the environment: configuration is one struct per function, read once in boot", f.at(n))
		}
	}
}

func TestOnlyBootReadsTheClock(t *testing.T) {
	for _, f := range sources(t, false) {
		if !within(f.dir(), "internal", "functions", "statemachines") || within(f.dir(), "internal/boot") {
			continue
		}
		for _, n := range calls(f, "time", "Now", "Since", "Until") {
			t.Errorf("%s reads the clock: time is an argument, or the now function that boot hands over", f.at(n))
		}
	}
}
