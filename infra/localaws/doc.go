// Package localaws serves what AWS does, in one process and over one data file: DynamoDB,
// Step Functions and Secrets Manager behind one handler (Services), and, each in a package
// of its own, Lambda's Runtime API, API Gateway's events and sockets, and the reading of a
// SAM template.
//
// What must stay true: a request is answered as AWS answers it, in every byte that a client
// can notice. A request that is not supported is refused with AWS's own error. A write is
// answered after it is on disk. The module knows nothing of the programs that use it.
package localaws
