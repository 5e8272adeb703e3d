package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"piloto/infra/local/process"
)

// The document that is registered, unless another is given, has the size and the shape of GitHub's: most of it are
// descriptions, responses and examples.
const (
	largeBytes      = 13 << 20
	largeOperations = 1223
	largeSchemas    = 900
)

// The aims of a registration.
const (
	mostRegisterCPU  = 800 * time.Millisecond
	mostRegisterPeak = 200_000_000 // bytes of resident memory
)

// registration is one registration of a large document. CPU is that of the whole process: it also has the client,
// the server of the document, and the engines.
type registration struct {
	CPU        time.Duration `json:"cpu_ns"`
	Took       time.Duration `json:"took_ns"`
	Allocated  uint64        `json:"allocated_bytes"`
	Allocs     uint64        `json:"allocations"`
	Peak       int64         `json:"peak_rss_bytes"`
	Before     int64         `json:"rss_before_bytes"`
	Operations int           `json:"operations"`
}

// runRegister registers a large document several times, and prints the cost of each registration.
func runRegister(ctx context.Context, o options, out io.Writer) (err error) {
	document := largeDocument()
	if o.document != "generated" {
		if document, err = os.ReadFile(o.document); err != nil {
			return err
		}
	}
	origin, stop, err := listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(document) }))
	if err != nil {
		return err
	}
	defer stop()
	var list []registration
	err = withDeployment(ctx, o, deployed{parameters: process.Unlimited()}, func(_ string, sys *system) error {
		end, err := profileTo(o.profile)
		if err != nil {
			return err
		}
		defer end()
		for range o.starts {
			r, err := sys.registerLarge(origin)
			if err != nil {
				return err
			}
			list = append(list, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return printRegistrations(out, o, len(document), list)
}

// profileTo writes a CPU profile until end is called. An empty name writes none.
func profileTo(name string) (end func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); _ = file.Close() }, pprof.StartCPUProfile(file)
}

// registerLarge registers the service at origin and deletes it.
func (s *system) registerLarge(origin string) (registration, error) {
	var r registration
	var server struct {
		ID    string     `json:"mcp_id"`
		Tools []struct{} `json:"endpoints"`
	}
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak begins anew
		return r, err
	}
	var err error
	if r.Before, err = peak(os.Getpid()); err != nil {
		return r, err
	}
	began, cpu := time.Now(), cpuTime()
	if err := s.caller.post(s.origin+"/api/mcps", map[string]any{"url": origin, "name": "Large"}, &server); err != nil {
		return r, err
	}
	r.Took, r.CPU = time.Since(began), cpuTime()-cpu
	if r.Peak, err = peak(os.Getpid()); err != nil {
		return r, err
	}
	runtime.ReadMemStats(&after)
	r.Allocated, r.Allocs, r.Operations = after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs, len(server.Tools)
	return r, s.caller.do(http.MethodDelete, s.origin+"/api/mcps/"+server.ID, nil, nil)
}

func printRegistrations(out io.Writer, o options, size int, list []registration) error {
	slices.SortFunc(list, func(a, b registration) int { return int(a.CPU - b.CPU) })
	middle := list[len(list)/2]
	if o.json {
		return json.NewEncoder(out).Encode(middle)
	}
	fmt.Fprintf(out, "Registering a document of %s MB with %d operations, %d times. CPU and memory are those of the whole process.\n", megabytes(int64(size)), middle.Operations, len(list))
	fmt.Fprintf(out, "Aim: %v of CPU, %s MB.\n\n", mostRegisterCPU, megabytes(mostRegisterPeak))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "CPU ms\ttook ms\tallocated MB\tallocations\tpeak MB\tbefore\t\t")
	for _, r := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t\n", ms(micros(r.CPU)), ms(micros(r.Took)), megabytes(int64(r.Allocated)), r.Allocs,
			megabytes(r.Peak), megabytes(r.Before), aimText(r.CPU <= mostRegisterCPU && r.Peak <= mostRegisterPeak))
	}
	return w.Flush()
}

// largeDocument returns an OpenAPI document of largeOperations operations and about largeBytes bytes.
func largeDocument() []byte {
	var b strings.Builder
	b.WriteString(`{"openapi":"3.0.3","info":{"title":"Large","version":"1"},"paths":{`)
	each := (largeBytes - largeSchemas*2500) / largeOperations
	for i := range largeOperations {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"/repos/{owner}/{repo}/things%d/{id}":{`, i)
		if i%3 == 0 {
			largeOperation(&b, i, "post", each)
		} else {
			largeOperation(&b, i, "get", each)
		}
		b.WriteByte('}')
	}
	b.WriteString(`},"components":{"parameters":{"owner":{"name":"owner","in":"path","required":true,"schema":{"type":"string"}},` +
		`"repo":{"name":"repo","in":"path","required":true,"schema":{"type":"string"}},"page":{"name":"page","in":"query","schema":{"type":"integer","default":1}}},"schemas":{`)
	for i := range largeSchemas {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"thing%d":`, i)
		largeSchema(&b, i)
	}
	b.WriteString(`}}}`)
	return []byte(b.String())
}

const prose = "Gives what belongs to a thing of a repository, as its owner and those who may write to it see it. "

// largeOperation writes one operation of about size bytes.
func largeOperation(b *strings.Builder, i int, method string, size int) {
	from := b.Len()
	fmt.Fprintf(b, `"%s":{"operationId":"things/%s-%d","summary":"%s","description":"%s","tags":["things"],"parameters":[{"$ref":"#/components/parameters/owner"},`+
		`{"$ref":"#/components/parameters/repo"},{"$ref":"#/components/parameters/page"},{"name":"id","in":"path","required":true,"schema":{"type":"integer"}}],`,
		method, method, i, prose[:50], strings.Repeat(prose, 6))
	if method == "post" {
		fmt.Fprintf(b, `"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","description":"%s"},`+
			`"thing":{"$ref":"#/components/schemas/thing%d"},"labels":{"type":"array","items":{"type":"string"}}}}}}},`, prose, i%largeSchemas)
	}
	fmt.Fprintf(b, `"responses":{"200":{"description":"it","content":{"application/json":{"schema":{"$ref":"#/components/schemas/thing%d"},"examples":{"default":{"value":[`, i%largeSchemas)
	for n := 0; b.Len()-from < size-400; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, `{"id":%d,"node_id":"MDU6SXNzdWUx","url":"https://api.example.com/repos/octo/hello/things/%d","title":"Found a bug","user":{"login":"octo","id":%d,"site_admin":false,"avatar_url":null},"labels":[{"name":"bug","default":true}]}`, n, n, n*7)
	}
	b.WriteString(`]}}}}}}}`)
}

// largeSchema writes one definition, which refers to others.
func largeSchema(b *strings.Builder, i int) {
	fmt.Fprintf(b, `{"type":"object","description":"%s","required":["id","url"],"properties":{`, prose)
	for p := range 20 {
		fmt.Fprintf(b, `"field_%d":{"type":"string","description":"%s"},`, p, prose[:60])
	}
	if i%10 != 0 {
		fmt.Fprintf(b, `"parent":{"$ref":"#/components/schemas/thing%d"},`, i-1)
	}
	b.WriteString(`"id":{"type":"integer"},"url":{"type":"string","format":"uri"}}}`)
}
