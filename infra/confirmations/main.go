// Command confirmations counts how many confirmations everyday requests take, before and after a person allows services to
// be read without one, and prints the table as Markdown:
//
//	go run ./infra/confirmations -openapi FOLDER [-update]
//
// With -update it writes infra/confirmations/results.md in place of printing. A test fails when that has other requests.
// FOLDER has the OpenAPI documents of the services (the names are in requests.go). The services are stand-ins with these
// documents and a few rows. The deployment is the real one, in this process. The model follows a script: it reads what a
// request needs, as soon as it may, and then answers or proposes; where it may not read, it proposes the reads, with
// references to their results wherever a reference is enough. So the table shows what the product asks a
// person, not how clever a model is.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

// resultsFile is written by -update.
const resultsFile = "infra/confirmations/results.md"

func main() {
	update := flag.Bool("update", false, "write "+resultsFile+", from the root of the tree")
	folder := flag.String("openapi", "", "the folder with the OpenAPI documents")
	template := flag.String("template", "template.yaml", "the deployment")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var page bytes.Buffer
	err := run(ctx, *template, *folder, &page)
	switch {
	case err != nil:
	case *update:
		err = os.WriteFile(resultsFile, page.Bytes(), 0o644) //nolint:gosec // a page for everybody
	default:
		_, err = page.WriteTo(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "confirmations:", err)
		os.Exit(1)
	}
}

// count is how often a person had to say something for a request.
type count struct {
	messages, confirmations int
}

func run(ctx context.Context, template, folder string, out io.Writer) error {
	if folder == "" {
		return fmt.Errorf("-openapi names no folder")
	}
	before, err := measure(ctx, template, folder, "off")
	if err != nil {
		return fmt.Errorf("without reads: %w", err)
	}
	after, err := measure(ctx, template, folder, "on")
	if err != nil {
		return fmt.Errorf("with reads: %w", err)
	}
	return write(out, before, after)
}

// write writes the page. before and after are in the order of the requests.
func write(out io.Writer, before, after []count) error {
	var page strings.Builder
	page.WriteString(`# How often a person has to confirm

Forty everyday requests over three services, before and after a person allowed these to be read without a confirmation
([services](../../docs/services.md#reading-without-asking)). The model follows a script: where it may not read, it proposes the reads, with
references to their results wherever a reference can say what is meant. «Messages» are what the person writes, beside the
confirmations; the approval of a step counts as a confirmation. Written by
` + "`go run ./infra/confirmations -openapi FOLDER -update`" + `, where FOLDER has the three documents (` + "`" + `infra/confirmations/requests.go` + "`" + ` names them).

`)
	page.WriteString("| | requests | confirmations before | after | messages before | after |\n|---|---|---|---|---|---|\n")
	for _, group := range []struct {
		name string
		is   func(request) bool
	}{
		{"questions", func(r request) bool { return len(r.writes) == 0 }},
		{"orders", func(r request) bool { return len(r.writes) > 0 }},
		{"in Spanish", func(r request) bool { return r.language == "es" }},
		{"in English", func(r request) bool { return r.language == "en" }},
		{"all", func(request) bool { return true }},
	} {
		n, was, is := 0, count{}, count{}
		for i, r := range requests {
			if group.is(r) {
				n++
				was, is = was.plus(before[i]), is.plus(after[i])
			}
		}
		fmt.Fprintf(&page, "| %s | %d | %d | %d | %d | %d |\n", group.name, n, was.confirmations, is.confirmations, was.messages, is.messages)
	}
	page.WriteString("\nWhat still asks: each write, and a read of a service while the answer of another one is in the prompt, which would be a way out for\nits data.\n")
	page.WriteString("\n| service | request | confirmations before | after | messages before | after |\n|---|---|---|---|---|---|\n")
	for i, r := range requests {
		says := r.says
		if r.follows {
			says = "… " + says
		}
		fmt.Fprintf(&page, "| %s | %s | %d | %d | %d | %d |\n", r.of, says, before[i].confirmations, after[i].confirmations, before[i].messages, after[i].messages)
	}
	_, err := io.WriteString(out, page.String())
	return err
}

func (c count) plus(d count) count {
	return count{c.messages + d.messages, c.confirmations + d.confirmations}
}
