package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"localaws/template"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"piloto/internal/boot/signed"
	"piloto/internal/conversation"
	"piloto/internal/edge/telemetry"
	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/call"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

var project = files.Place{Account: "acc", Project: "prj"}

// filesAt returns the client of the function files over a configuration.
func filesAt(p *Process, config aws.Config) *call.Client {
	return call.New(signed.New(config, "lambda", "", p.Clock), p.names["FilesFunction"])
}

// callerOf returns the client of the function files that a function of the template has, with its role.
func callerOf(t *testing.T, p *Process, function string) *call.Client {
	t.Helper()
	fn, ok := p.template.Function(function)
	if !ok {
		t.Fatalf("there is no %s", function)
	}
	w, err := p.withRole(p.world(), fn)
	if err != nil {
		t.Fatal(err)
	}
	return filesAt(p, w.Functions)
}

// openProject makes the project of these tests.
func openProject(t *testing.T, p *Process) {
	t.Helper()
	if err := p.Stores.Chats.CreateProject(t.Context(), project.Account, conversation.Project{ID: project.Project, Name: "p"}); err != nil {
		t.Fatal(err)
	}
}

// write makes a file over a change set, and applies it.
func write(t *testing.T, c files.Workspace, name, content string) (set string, done []overlay.Done) {
	t.Helper()
	arguments, _ := json.Marshal(map[string]string{"path": name, "content": content})
	used, err := c.Use(t.Context(), project, "", []files.Call{{Name: "write_file", Arguments: arguments}}, files.Options{Write: true})
	if err != nil || !used.Results[0].OK {
		t.Fatalf("%+v, %v", used, err)
	}
	applied, err := c.Apply(t.Context(), project, used.Set.ID)
	if err != nil {
		t.Fatal(err)
	}
	return used.Set.ID, applied.Done
}

// TestFunctionsCallFiles: those whose role allows it, and a fault is the same on their side.
func TestFunctionsCallFiles(t *testing.T) {
	p, _, log, _ := deploy(t, Settings{})
	openProject(t, p)
	for _, function := range []string{"ChatFunction", "RouterFunction", "TurnFunction", "AgentFunction", "StepFunction"} {
		c := callerOf(t, p, function)
		set, done := write(t, c, function+".txt", "hola\n")
		if tree, err := c.Tree(t.Context(), project, ""); err != nil || !strings.Contains(tree.Names, function+".txt") {
			t.Errorf("%s: %q, %v", function, tree, err)
		}
		if shown, err := c.Show(t.Context(), project, set); err != nil || !strings.Contains(shown.Diff, "+hola") {
			t.Errorf("%s: %+v, %v", function, shown, err)
		}
		if _, err := c.Undo(t.Context(), project, set, done); err != nil {
			t.Errorf("%s: %v", function, err)
		}
	}
	c := callerOf(t, p, "StepFunction")
	set, done := write(t, c, "a", "1\n")
	if _, err := c.Undo(t.Context(), project, set, []overlay.Done{{Name: "a", Version: "another"}}); !errors.Is(err, workspace.ErrMoved) || fault.Of(err).Args["name"] != "a" {
		t.Errorf("%v, of %v", err, done)
	}
	if _, err := c.Show(t.Context(), project, strings.Repeat("0", 64)); !errors.Is(err, files.ErrSet) {
		t.Error(err)
	}
	if saved, err := p.Stores.Chats.Project(t.Context(), project.Account, project.Project); err != nil || !saved.Files {
		t.Errorf("%+v, %v", saved, err)
	}
	if strings.Contains(log.String(), DeniedEvent) {
		t.Error(log)
	}
	var denied bytes.Buffer
	p.log = telemetry.New(&denied, slog.LevelInfo, "test")
	if _, err := callerOf(t, p, "ConfirmFunction").Tree(t.Context(), project, ""); err == nil || fault.KindOf(err) != fault.Internal || strings.Count(denied.String(), DeniedEvent) != 1 {
		t.Errorf("%v, and the log says %s", err, &denied)
	}
}

// TestFilesIsLimitedToItsObjects: the function files has no other use of the bucket, and others have none.
func TestFilesIsLimitedToItsObjects(t *testing.T) {
	p, _, _, _ := deploy(t, Settings{})
	bucket, etag, version := p.names["FilesBucket"], `"x"`, strings.Repeat("A", 26)
	client := func(function string) *s3.Client {
		fn, _ := p.template.Function(function)
		w, err := p.withRole(p.world(), fn)
		if err != nil {
			t.Fatal(err)
		}
		return s3.NewFromConfig(w.Objects, func(o *s3.Options) { o.UsePathStyle = true })
	}
	own, other := client("FilesFunction"), client("ChatFunction")
	key := func(k string) *string { return &k }
	put := func(c *s3.Client, k string) error {
		_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: key(k), Body: strings.NewReader("x")})
		return err
	}
	get := func(c *s3.Client, k string, version *string) error {
		_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: key(k), VersionId: version})
		return err
	}
	remove := func(c *s3.Client, k string) error {
		_, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: key(k), IfMatch: &etag})
		return err
	}
	list := func(c *s3.Client) error {
		_, err := c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
		return err
	}
	versions := func(c *s3.Client) error {
		_, err := c.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &bucket})
		return err
	}
	configure := func(c *s3.Client) error {
		_, err := c.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &bucket})
		return err
	}
	for name, c := range map[string]struct {
		err    error
		denied bool
	}{
		"writes a file":                      {put(own, "files/a"), false},
		"writes a set":                       {put(own, "changes/a"), false},
		"writes a part":                      {put(own, "uploads/a"), false},
		"writes elsewhere":                   {put(own, "a"), true},
		"reads a file":                       {get(own, "files/missing", nil), false},
		"reads an earlier version of a file": {get(own, "files/missing", &version), false},
		"reads an earlier version of a set":  {get(own, "changes/missing", &version), true},
		"deletes a file":                     {remove(own, "files/missing"), false},
		"deletes elsewhere":                  {remove(own, "a"), true},
		"lists":                              {list(own), false},
		"lists versions":                     {versions(own), false},
		"looks at the rules":                 {configure(own), true},
		"chat writes a file":                 {put(other, "files/a"), true},
		"chat lists":                         {list(other), true},
		"chat reads":                         {get(other, "files/a", nil), true},
	} {
		var refused smithy.APIError
		if denied := errors.As(c.err, &refused) && refused.ErrorCode() == "AccessDeniedException"; denied != c.denied {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

// TestFilesLastOverARestart, and the bucket is provided again with its objects.
func TestFilesLastOverARestart(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	for round := range 2 {
		p, err := Open(t.Context(), Options{Data: folder, Template: "../../../template.yaml", Log: t.Output()}, Settings{}, "http://localhost")
		if err != nil {
			t.Fatal(err)
		}
		c := callerOf(t, p, "StepFunction")
		if round == 0 {
			openProject(t, p)
			write(t, c, "kept.txt", "content\n")
		}
		used, err := c.Use(t.Context(), project, "", []files.Call{{Name: "read_file", Arguments: json.RawMessage(`{"path":"kept.txt"}`)}}, files.Options{})
		if err != nil || !strings.Contains(used.Results[0].Output, "content") {
			t.Errorf("%+v, %v", used, err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFunctionsAsProcessesCallFiles: the executable, over the endpoint that serves AWS to functions, and to nobody else.
func TestFunctionsAsProcessesCallFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the function")
	}
	folder := executables(t)
	if err := os.Remove(filepath.Join(folder, "files", bootstrap)); err != nil {
		t.Fatal(err)
	}
	if err := BuildFunctions(t.Context(), "../../..", folder, []template.Function{{Name: "files", Folder: "functions/files"}}); err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), Options{
		Data: filepath.Join(t.TempDir(), "data"), Template: "../../../template.yaml", Log: t.Output(), Lambda: AsProcess, Functions: folder,
	}, Settings{}, "http://localhost")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	openProject(t, p)
	config := aws.Config{Region: awsRegion, BaseEndpoint: &p.awsEndpoint.url, Credentials: credentials.NewStaticCredentialsProvider(p.awsEndpoint.id, p.awsEndpoint.secret, "")}
	c := filesAt(p, config)
	set, _ := write(t, c, "a/b.txt", "hola\n")
	if shown, err := c.Show(t.Context(), project, set); err != nil || !strings.Contains(shown.Diff, "+hola") {
		t.Errorf("%+v, %v", shown, err)
	}
	if _, err := c.Show(t.Context(), project, strings.Repeat("0", 64)); !errors.Is(err, files.ErrSet) {
		t.Error(err)
	}
	config.Credentials = credentials.NewStaticCredentialsProvider("local", "local", "")
	if tree, err := filesAt(p, config).Tree(t.Context(), project, ""); err == nil {
		t.Errorf("it answered one who is none of its functions: %s", tree)
	}
}
