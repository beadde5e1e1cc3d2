package lab

var nasGroup = Group{
	ID: "nas", Name: "Network-aware scheduling",
}
