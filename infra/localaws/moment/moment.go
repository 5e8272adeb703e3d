// Package moment owns the named moments between two effects that must not part. A test of
// crashes listens to them, and ends the process at one.
package moment

// Watch is told of every moment, by name: "disk.commit.before". It is set before a service
// is opened and not changed afterwards. Nil: nobody listens, and a moment costs a comparison.
var Watch func(name string)

// Here is a moment.
func Here(name string) {
	if Watch != nil {
		Watch(name)
	}
}
