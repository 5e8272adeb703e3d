package stepfunctions

import "time"

// The quotas of AWS; see also maxEvents, maxDefinition and maxSeconds.
const (
	// maxPayload bounds inputs, outputs and results, in bytes of UTF-8.
	maxPayload = 262_144
	// maxInlineConcurrency bounds the number of concurrent items of a Map state.
	maxInlineConcurrency = 40
	// nameRetention is the time for which the name of a closed execution stays taken and its
	// history readable.
	nameRetention = 90 * 24 * time.Hour
	// maxName bounds the names of machines and executions, in characters.
	maxName = 80
	// maxErrorText and maxCauseText bound the texts of SendTaskFailure and StopExecution, in
	// characters.
	maxErrorText = 256
	maxCauseText = 32_768
	// maxTokenText bounds a task token, in characters.
	maxTokenText = 2048
	// maxPage bounds the results of one page; 0 asks for defaultPage.
	maxPage     = 1000
	defaultPage = 100
)
