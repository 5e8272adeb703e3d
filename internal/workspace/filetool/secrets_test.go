package filetool_test

import (
	"strings"
	"testing"
)

// TestSecretsOfAProjectAreMasked: where no person can be asked, a model reads masks, and cannot write them.
func TestSecretsOfAProjectAreMasked(t *testing.T) {
	files := map[string]string{
		"secrets.yaml": "db: hunter2\nport: 80\n", "config/app.yaml": "name: shop\npassword: hunter2\nport: 80\n", ".netrc": "machine h login ana password hunter2\n",
	}
	f, s := over(files)
	for name := range files {
		for _, c := range []struct {
			tool string
			args args
		}{
			{"read_file", args{"path": name}},
			{"grep", args{"text": "p", "path": name}},
			{"grep", args{"text": "hunter2", "path": name}},
			{"search_code", args{"pattern": "[hH]unter.", "path": name}},
			{"apply_patch", args{"path": name, "patch": "@@ -1,1 +1,1 @@\n-x\n+y\n"}},
			{"write_file", args{"path": name, "content": "password: [redacted]\n"}},
			{"edit_file", args{"path": name, "old_str": "[redacted]", "new_str": "x"}},
		} {
			r := call(t, f, c.tool, c.args)
			if strings.Contains(r.Output+r.Error, "hunter2") || read(t, s, name) != files[name] {
				t.Errorf("%s %v: %+v", c.tool, c.args, r)
			}
			if c.tool == "read_file" && !strings.Contains(r.Output, "1 secret of this file masked") {
				t.Errorf("%s: %s", name, r.Output)
			}
		}
	}
	r := call(t, f, "edit_file", args{"path": "config/app.yaml", "old_str": "port: 80", "new_str": "port: 81"})
	if !r.OK || strings.Contains(r.Output, "hunter2") || read(t, s, "config/app.yaml") != "name: shop\npassword: hunter2\nport: 81\n" {
		t.Errorf("%+v", r)
	}
	// Only a part with a secret says that something is masked.
	if r := call(t, f, "read_file", args{"path": "config/app.yaml", "from": 3}); strings.Contains(r.Output, "masked") {
		t.Error(r.Output)
	}
}
