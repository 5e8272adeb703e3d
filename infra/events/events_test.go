package events_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"localaws"
	"localaws/disk"
	"localaws/lambda"
	"localaws/provision"
	"localaws/template"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"piloto/infra/events"
	"piloto/infra/local/process"
)

const root = "../.."

// answer is a function's answer to its sample on an empty table: for HTTP a status and a part of the body, for a
// task its result or its error's name.
type answer struct {
	status int
	body   string
	failed string
}

var answers = map[string]answer{
	"agent":       {body: `"next":"end"`}, // there is no such job
	"authorize":   {body: `"refused":"auth_required"`},
	"chat":        {status: 503, body: "switch_unavailable"},
	"conclude":    {body: `"runs":0`}, // no conclusion of it is due
	"confirm":     {status: 404, body: "run.not_found"},
	"files":       {body: `{"result":""}`}, // a project without files
	"jobs":        {status: 202, body: `"status":"running"`},
	"mcp":         {status: 200, body: "[]"},
	"eligibility": {status: 200, body: `"reason":"no_api_key"`},
	"realtime":    {body: `"statusCode":403`},
	"reason":      {failed: "Task.Failed"},
	"records":     {status: 201, body: "Salas de la semana"},
	"lifecycle":   {failed: "Task.Failed"},
	"router":      {status: 200, body: `"reason":"no_api_key"`},
	"step":        {failed: "Task.Failed"},
	"sweep":       {body: "0"},
	"turn":        {body: "{}"}, // it belongs to no turn
	"web":         {status: 200, body: "<html"},
}

func TestEveryBootstrapAnswersItsSample(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds every function")
	}
	tpl, err := template.Read(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	bin := build(t, tpl)
	world := serve(t, tpl)
	for _, f := range tpl.Functions {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			want, ok := answers[f.Name]
			if !ok {
				t.Fatalf("what %s answers is not written down", f.Name)
			}
			env := append([]string{}, world.env...)
			for name, value := range world.environment[f.ID] {
				env = append(env, name+"="+cmp.Or(world.given[name], value))
			}
			sample, err := events.Samples.ReadFile(f.Name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			p, err := lambda.Start(t.Context(), lambda.Config{
				Name: f.ID, ARN: world.names[f.ID+".Arn"], Bootstrap: filepath.Join(bin, f.Name, "bootstrap"),
				Env: env, Timeout: f.Timeout, Log: t.Output(),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			for range 2 { // cold, then warm
				got, failed, err := p.Invoke(t.Context(), sample)
				if err != nil {
					t.Fatal(err)
				}
				check(t, want, got, failed)
			}
		})
	}
}

func check(t *testing.T, want answer, got []byte, failed *lambda.FunctionError) {
	t.Helper()
	if failed != nil {
		if failed.Type != want.failed {
			t.Errorf("failed with %v, want %+v", failed, want)
		}
		return
	}
	if want.failed != "" {
		t.Fatalf("answered %s, want the error %s", got, want.failed)
	}
	if want.status == 0 {
		if !strings.Contains(string(got), want.body) {
			t.Errorf("answered %s, want …%s…", got, want.body)
		}
		return
	}
	var http struct {
		Status  int               `json:"statusCode"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	if err := json.Unmarshal(got, &http); err != nil {
		t.Fatalf("answered %s: %v", got, err)
	}
	if http.Status != want.status || !strings.Contains(http.Body, want.body) || http.Headers["X-Trace-Id"] == "" {
		t.Errorf("answered %s, want %d …%s… with a trace id", got, want.status, want.body)
	}
}

// build builds every function as for a deployment, but for this machine.
func build(t *testing.T, tpl *template.Template) string {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(root, "build", runtime.GOARCH)) // as make build does: executables that are up to date stay
	if err != nil {
		t.Fatal(err)
	}
	if err := process.BuildFunctions(t.Context(), root, bin, tpl.Functions); err != nil {
		t.Fatal(err)
	}
	return bin
}

// localAWS is the local AWS of a test's functions.
type localAWS struct {
	names       map[string]string
	environment map[string]map[string]string
	env         []string          // set by Lambda, and by SAM
	given       map[string]string // set with --env-vars of sam local invoke, which sets only variables that the template declares
}

// serve runs the services on loopback, with the table and the state machine of the template, and gives the
// functions the environment of a deployment.
func serve(t *testing.T, tpl *template.Template) localAWS {
	t.Helper()
	dir := t.TempDir()
	store, err := disk.Open(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	services, err := localaws.Open(store, localaws.Options{Objects: filepath.Join(dir, "objects")})
	if err != nil {
		t.Fatal(err)
	}
	if err := services.Machines.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = services.Halt() })
	endpoint := httptest.NewServer(services)
	t.Cleanup(endpoint.Close)

	w := localAWS{names: tpl.Names(), env: []string{
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
	}, given: map[string]string{"AWS_ENDPOINT_URL": endpoint.URL}}
	d, err := tpl.Resolve(w.names)
	if err != nil {
		t.Fatal(err)
	}
	w.environment = d.Environment
	config := aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), BaseEndpoint: &endpoint.URL,
	}
	if err := errors.Join(provision.Tables(t.Context(), config, tpl, w.names), provision.Buckets(t.Context(), config, tpl, w.names), provision.Machines(t.Context(), config, tpl, d, w.names)); err != nil {
		t.Fatal(err)
	}
	return w
}
