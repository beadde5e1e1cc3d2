package lab

var slowdownGroup = Group{
	ID: "slowdown", Name: "Variability of slowdown",
}
