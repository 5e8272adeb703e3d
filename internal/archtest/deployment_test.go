package archtest

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"localaws/template"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"piloto/internal/edge/gateway"
	"piloto/internal/edge/httpapi"
	"piloto/internal/runs/step"
	"piloto/statemachines"
)

// initials maps the functions whose name is spelt in capitals.
var initials = map[string]string{"mcp": "MCP"}

// title returns a function's name as Go and the template spell it: Chat, MCP.
func title(function string) string {
	if s, ok := initials[function]; ok {
		return s
	}
	return strings.ToUpper(function[:1]) + function[1:]
}

func startOf(function string) string { return "Start" + title(function) }

func readTemplate(t *testing.T) *template.Template {
	t.Helper()
	tpl, err := template.Read(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

// names returns the names in a folder, without an ending.
func names(t *testing.T, dir, ending string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ending); ok {
			list = append(list, name)
		}
	}
	return list
}

func TestTemplateFoldersAndSamplesListSameFunctions(t *testing.T) {
	var declared []string
	for _, f := range readTemplate(t).Functions {
		declared = append(declared, f.Name)
		if f.ID != title(f.Name)+"Function" {
			t.Errorf("template.yaml: %s must be called %sFunction", f.ID, title(f.Name))
		}
	}
	slices.Sort(declared)
	if folders := names(t, "functions", ""); !slices.Equal(declared, folders) {
		t.Errorf("template.yaml declares %v and functions/ holds %v", declared, folders)
	}
	if samples := names(t, "infra/events", ".json"); !slices.Equal(declared, samples) {
		t.Errorf("template.yaml declares %v and infra/events/ has samples of %v", declared, samples)
	}
	for _, name := range declared {
		text, err := os.ReadFile(filepath.Join(root, "infra/events", name+".json"))
		if err == nil && !json.Valid(text) {
			t.Errorf("infra/events/%s.json is not JSON", name)
		}
	}
}

func TestTemplateRoutesMatchServedRoutes(t *testing.T) {
	tpl := readTemplate(t)
	served := map[string]string{"$default": "records"}
	for _, r := range httpapi.Routes() {
		served[r.Method+" "+r.Path] = string(r.Function)
	}
	routed := map[string]string{}
	for _, r := range tpl.API.Routes {
		f, _ := tpl.Function(r.Function)
		if f.Name != "web" {
			routed[r.Key()] = f.Name
		}
		if r.Open {
			t.Errorf("template.yaml:%d: %s: nobody is identified there; it is the handlers that refuse", r.Line, r.Key())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(served)) {
		if routed[key] != served[key] {
			t.Errorf("%s is served by %s, and template.yaml routes it to %q", key, served[key], routed[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(routed)) {
		if _, ok := served[key]; !ok {
			t.Errorf("template.yaml routes %s to %s, which does not serve it", key, routed[key])
		}
	}
}

// TestSocketRoutesMatchTemplate compares the WebSocket API's routes in the template, as the one-process deployment
// reads it, with those of the handler.
func TestSocketRoutesMatchTemplate(t *testing.T) {
	api := readTemplate(t).Socket
	var routed []string
	for _, r := range api.Routes {
		routed = append(routed, r.Key)
		if r.Function != "RealtimeFunction" {
			t.Errorf("template.yaml:%d: %s is routed to %s", r.Line, r.Key, r.Function)
		}
	}
	served := gateway.SocketRoutes()
	slices.Sort(routed)
	slices.Sort(served)
	if !slices.Equal(routed, served) {
		t.Errorf("template.yaml routes %v of the WebSocket API, and %v are served", routed, served)
	}
}

// TestPageRoutesMatchTemplate compares the patterns of the page's own mux with the template: every served pattern
// is routed, and every routed one is served.
func TestPageRoutesMatchTemplate(t *testing.T) {
	tpl := readTemplate(t)
	patterns := pagePatterns(t)
	if len(patterns) < 5 {
		t.Fatalf("only %v were found in internal/edge/webui", patterns)
	}
	for _, p := range patterns {
		method, path, _ := strings.Cut(p, " ")
		sample := strings.NewReplacer("{$}", "", "{path...}", "a.css", "{id}", "1").Replace(path)
		if r, ok := tpl.Route(method, sample); !ok || r.Function != "WebFunction" {
			t.Errorf("the page serves %s, and template.yaml routes it to %q", p, r.Function)
		}
	}
	for _, r := range tpl.API.Routes {
		if r.Function != "WebFunction" {
			continue
		}
		fixed, greedy := strings.CutSuffix(r.Path, "{proxy+}")
		if !slices.ContainsFunc(patterns, func(p string) bool {
			method, path, _ := strings.Cut(p, " ")
			path = strings.TrimSuffix(path, "{$}")
			return method == r.Method && (path == fixed || greedy && strings.HasPrefix(path, fixed) && path != fixed)
		}) {
			t.Errorf("template.yaml:%d: %s is routed to the page, which does not serve it", r.Line, r.Key())
		}
	}
}

// pagePatterns returns the patterns that internal/edge/webui registers: the first argument of its calls when it is
// a pattern. fragment means GET.
func pagePatterns(t *testing.T) []string {
	var patterns []string
	for _, f := range sources(t, false) {
		if f.dir() != "internal/edge/webui" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			lit, ok := call.Args[0].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "fragment" {
				text = "GET " + text
			}
			method, path, ok := strings.Cut(text, " ")
			registered := ok && (method == "GET" || method == "POST") && strings.HasPrefix(path, "/") &&
				(path == "/{$}" || !strings.HasSuffix(path, "/"))
			if registered {
				patterns = append(patterns, text)
			}
			return true
		})
	}
	return patterns
}

// world lists variables that the template sets and that boot's lambdaWorld reads, for every function. No field of a
// configuration has their name.
var world = []string{"AWS_ENDPOINT_URL"}

func TestVariablesOfTemplateAndConfigurationMatch(t *testing.T) {
	structs := bootStructs(t)
	for _, f := range readTemplate(t).Functions {
		config := title(f.Name) + "Config"
		if structs[config] == nil {
			t.Errorf("internal/boot has no %s: what does %s read?", config, f.ID)
			continue
		}
		reads := variables(structs, structs[config], "")
		for _, name := range reads {
			if _, set := f.Environment[name]; !set {
				t.Errorf("boot.%s reads %s, and template.yaml does not set it for %s", config, name, f.ID)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(f.Environment)) {
			if !slices.Contains(reads, name) && !slices.Contains(world, name) {
				t.Errorf("template.yaml sets %s for %s, and boot.%s does not read it", name, f.ID, config)
			}
		}
	}
}

// TestStateMachinesHaveTheNameThatOneMachineGivesThem: a policy names a machine that it cannot refer to, and it has to hold
// in both deployments.
func TestStateMachinesHaveTheNameThatOneMachineGivesThem(t *testing.T) {
	for id, r := range rawResources(t) {
		name := find(r, "Properties", "Name")
		if kind := find(r, "Type"); kind == nil || kind.Value != "AWS::Serverless::StateMachine" || name == nil {
			continue
		}
		if want := "${AWS::StackName}-" + id; name.Tag != "!Sub" || name.Value != want {
			t.Errorf("%s is named %s, and %s on one machine", id, name.Value, want)
		}
	}
}

// bootStructs returns the struct types of internal/boot.
func bootStructs(t *testing.T) map[string]*ast.StructType {
	structs := map[string]*ast.StructType{}
	for _, f := range sources(t, false) {
		if f.dir() != "internal/boot" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	return structs
}

// variables returns the names in a struct's env tags, and in those of the embedded structs of boot.
func variables(structs map[string]*ast.StructType, s *ast.StructType, prefix string) []string {
	var list []string
	for _, field := range s.Fields.List {
		tag := reflect.StructTag("")
		if field.Tag != nil {
			if text, err := strconv.Unquote(field.Tag.Value); err == nil {
				tag = reflect.StructTag(text)
			}
		}
		if name, _, _ := strings.Cut(tag.Get("env"), ","); name != "" {
			list = append(list, prefix+name)
			continue
		}
		inner, _ := field.Type.(*ast.StructType)
		if id, ok := field.Type.(*ast.Ident); ok {
			inner = structs[id.Name]
		}
		if inner != nil {
			list = append(list, variables(structs, inner, prefix+tag.Get("envPrefix"))...)
		}
	}
	return list
}

// TestTimesOfAStepAgree holds the template and the state machine to the times of package step: the state machine gives
// up no invocation that may still be in its call, and no setting lets a call go on until its function is cut off.
func TestTimesOfAStepAgree(t *testing.T) {
	tpl := readTemplate(t)
	f, _ := tpl.Function("StepFunction")
	if f.Timeout != step.FunctionTime {
		t.Errorf("template.yaml: StepFunction has %s, want %s", f.Timeout, step.FunctionTime)
	}
	tasks := regexp.MustCompile(`"Resource": "\$\{`+statemachines.StepFunctionArn+`\}",\s*"TimeoutSeconds": (\d+)`).FindAllSubmatch(statemachines.Definition, -1)
	if len(tasks) < 2 {
		t.Errorf("planrun.asl.json has %d tasks of the function", len(tasks))
	}
	for _, task := range tasks {
		if got := string(task[1]); got != strconv.Itoa(int(step.TaskTime.Seconds())) {
			t.Errorf("planrun.asl.json waits %s s, want %s", got, step.TaskTime)
		}
	}
	for seconds, fits := range map[int]bool{0: false, 1: true, int(step.MostPatience.Seconds()): true, int(step.MostPatience.Seconds()) + 1: false} {
		_, err := tpl.Resolve(map[string]string{"ToolTimeoutSeconds": strconv.Itoa(seconds)})
		if refused := err != nil && strings.Contains(err.Error(), "parameter ToolTimeoutSeconds:"); refused == fits {
			t.Errorf("template.yaml: ToolTimeoutSeconds of %d: refused %v", seconds, refused)
		}
	}
	i := slices.IndexFunc(tpl.Parameters, func(p template.Parameter) bool { return p.Name == "ToolTimeoutSeconds" })
	if usual := strconv.Itoa(int(step.UsualPatience.Seconds())); tpl.Parameters[i].Default != usual {
		t.Errorf("template.yaml: ToolTimeoutSeconds is %s, want %s", tpl.Parameters[i].Default, usual)
	}
}
