package process

import (
	"context"
	"errors"
	"io/fs"
	"localaws/template"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// bootstrap is the name of a function's executable in its folder.
const bootstrap = "bootstrap"

// notInlined are the compiler's flags of packages that compute little.
var notInlined = []string{
	"github.com/...=-l", "golang.org/...=-l", "mvdan.cc/...=-l", "piloto/...=-l", "net/...=-l", "crypto/...=-l", "crypto/internal/...=",
	"vendor/...=-l", "log/...=-l", "mime/...=-l", "text/...=-l",
	"fmt=-l", "os/...=-l", "io/...=-l", "context=-l", "html=-l", "regexp/syntax=-l",
	"sort=-l", "time=-l", "regexp=-l", "bufio=-l", "compress/...=-l", "path/...=-l", "maps=-l", "sync=-l", "reflect=-l",
	"slices=-l", "strings=-l", "bytes=-l", "strconv=-l", "encoding/...=-l", "math/big=-l", "unicode/...=-l", "errors=-l",
}

// buildFlags returns the flags of BUILD in the Makefile, which explains them, with further tags.
func buildFlags(tags ...string) []string {
	tags = append([]string{"lambda.norpc", "nethttpomithttp2"}, tags...)
	flags := []string{"-race=false", "-tags", strings.Join(tags, ","), "-trimpath", "-ldflags", "-s -w"}
	for _, packages := range notInlined {
		flags = append(flags, "-gcflags", packages)
	}
	return flags
}

// BuildFunctions builds the bootstrap of every function for this machine into
// folder/NAME/bootstrap, with the flags of `make build` and further tags. module is the folder of
// template.yaml. Executables that are up to date are not linked again.
func BuildFunctions(ctx context.Context, module, folder string, functions []template.Function, tags ...string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	together := filepath.Join(folder, ".all")
	if err := os.MkdirAll(together, 0o755); err != nil {
		return err
	}
	args := slices.Concat([]string{"build"}, buildFlags(tags...), []string{"-o", together})
	for _, fn := range functions {
		args = append(args, "./"+fn.Folder)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return refusal("up.wrong.build", "output", string(output)).Because(err)
	}
	for _, fn := range functions {
		to := filepath.Join(folder, fn.Name, bootstrap)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.RemoveAll(to), os.Link(filepath.Join(together, filepath.Base(fn.Folder)), to)); err != nil {
			return err
		}
	}
	return nil
}

// bootstrapFolder returns the folder of every function's bootstrap: the folder that was given, or
// build/ARCH of the module after a build.
func (p *Process) bootstrapFolder(ctx context.Context) (string, error) {
	folder, module := p.Functions, filepath.Dir(p.Template)
	if folder == "" {
		folder = filepath.Join(module, "build", runtime.GOARCH)
		p.log.Info("functions.build", "folder", folder)
		if _, err := exec.LookPath("go"); err != nil {
			return "", refusal("up.wrong.no_go").Because(err)
		}
		if err := BuildFunctions(ctx, module, folder, p.template.Functions); err != nil {
			return "", err
		}
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	for _, fn := range p.template.Functions {
		if _, err := exec.LookPath(filepath.Join(folder, fn.Name, bootstrap)); errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return "", refusal("up.wrong.no_bootstrap", "folder", folder, "name", fn.Name+"/"+bootstrap)
		} else if err != nil {
			return "", refusal("up.wrong.start", "name", fn.Name).Because(err)
		}
	}
	return folder, nil
}
