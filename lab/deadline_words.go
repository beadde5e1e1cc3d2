package lab

var deadlineGroup = Group{
	ID: "deadline", Name: "Completion-time goals",
}
