// Package records builds functions/records, the only function that links the writer of PDF documents.
package records

import (
	"net/http"
	_ "time/tzdata" // a reader names the zone of the times in a document

	"piloto/internal/boot"
	"piloto/internal/edge/paper"
)

// Start runs functions/records.
func Start() { boot.StartHTTP(New) }

// New builds functions/records.
func New(w boot.World, e boot.Environment) (http.Handler, error) {
	return boot.Records(w, e, paper.Print)
}
